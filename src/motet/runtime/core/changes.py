"""Changes of single integers of a table: what workers and servers exchange if most stay the same.

Changes are one array `(2, n)` of integers: flat positions in the table or in a block (row after
row), and what is added there. A position may occur several times. In changes of a whole table
(`Update.is_changes`) those of a row follow those of the rows before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from motet.domain.arrays import Array


def add_changes(values: Array, changes: Array | tuple[Array, Array]) -> None:
    """Add changes to contiguous integers of any shape, in place.

    `changes`: one array, or positions and amounts. Raises IndexError for a position outside, with
    nothing added.
    """
    from motet.runtime.core.kernels.change_kernels import add_at

    flat = values.reshape(-1, copy=False)
    positions, amounts = changes
    if not (positions.flags.aligned and amounts.flags.aligned):
        positions, amounts = positions.copy(), amounts.copy()
    if not add_at(flat, positions, amounts):
        raise IndexError(f"a change is outside of the {flat.size} numbers")


def all_changes(parts: Sequence[Array]) -> Array:
    """Several changes as one array `(2, n)`."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=1) if parts else np.empty((2, 0), np.int32)


def compile_change_kernels(dtype: np.dtype[Any]) -> None:
    """Compile what workers and servers need to exchange changes of such integers."""
    from motet.runtime.core.kernels.change_kernels import (
        add_at,
        add_in_blocks,
        divide_by_blocks,
        shift_positions,
    )

    values, bounds = np.zeros(1, dtype), np.array([0, 1])
    received = np.zeros((2, 1), np.int32)
    read_only = received.view()
    read_only.flags.writeable = False
    add_at(values, received[0], received[1])
    for changes in (received, read_only):
        add_in_blocks(values, bounds[:1], bounds[1:], (changes[0], changes[1]), bounds[1:])
    shift_positions(received[0], bounds[1:], bounds[:1], received[0])
    computed = np.zeros(1, np.int64)
    divide_by_blocks(computed, computed, bounds, received)
