"""Changes of single integers of a table: what workers and servers exchange if most stay the same.

Changes are one array `(2, n)` of integers: flat positions in the table or in a block (row after
row), and what is added there. A position may occur several times. In changes of a whole table
(`Update.is_changes`) those of a row follow those of the rows before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from motet.domain.arrays import Array

# NumPy adds arrays that are not aligned or not writable many times more slowly.
_FAST: tuple[Literal["A"], Literal["W"]] = ("A", "W")


def add_changes(values: Array, changes: Array | tuple[Array, Array]) -> None:
    """Add changes to contiguous integers of any shape, in place. Raises IndexError.

    `changes`: one array, or positions and amounts.
    """
    flat = values.reshape(-1, copy=False)
    positions, amounts = changes
    np.add.at(flat, np.require(positions, np.intp, _FAST), np.require(amounts, flat.dtype, _FAST))


def all_changes(parts: Sequence[Array]) -> Array:
    """Several changes as one array `(2, n)`."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts, axis=1) if parts else np.empty((2, 0), np.int32)
