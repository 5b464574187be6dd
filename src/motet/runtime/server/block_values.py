"""The values of a block: where they are while no request uses them, and copies of their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from motet.domain.arrays import Array, RowIndices

AWAY: Array = np.empty(0)
"""Stands for values that are not in memory."""


class ValuePlace(Protocol):
    """Keeps the values of one block outside of this process's memory. Methods raise JobFailed."""

    def save(self, values: Array) -> None:
        """Keep these instead of the ones before."""
        ...

    def load(self) -> Array:
        """What was saved last, as an array of its own."""
        ...


MakePlace: TypeAlias = Callable[[], ValuePlace]


def copy_rows(values: Array, rows: RowIndices, out: Array) -> None:
    """Copy `values[rows]` to `out`. Raises IndexError when a row is outside, with nothing copied.

    `np.take` with its own check, the default, fills a buffer of the size of `out` first, so that an
    error leaves `out` as it was.
    """
    if len(rows) and int(rows.max()) >= len(values):
        raise IndexError(f"row {int(rows.max())} is outside of {len(values)} rows")
    np.take(values, rows, axis=0, out=out, mode="clip")
