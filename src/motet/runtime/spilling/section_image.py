"""A section's arrays in one buffer, as they are in memory and on disk."""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.rows import Rows

SpillBuffer: TypeAlias = "mmap.mmap | memoryview"

PAGE_BYTES = mmap.PAGESIZE
_IDS = "ids:"
_ALIGNMENT = 64


@dataclass(frozen=True)
class _PlacedArray:
    """`name`: as in `Rows.arrays`, or _IDS."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    offset: int

    def view(self, buffer: SpillBuffer) -> Array:
        """The array in a buffer that holds the image."""
        count = int(np.prod(self.shape, dtype=np.int64))
        flat = np.frombuffer(buffer, self.dtype, count, self.offset)
        found: Array = flat.reshape(self.shape)
        return found


@dataclass(frozen=True)
class SectionImage:
    """Where the arrays of a section are in a buffer of `nbytes`, a multiple of the page size.

    Constant arrays come first. The state columns, which mini-batches change, are in whole pages of
    their own, from `state_offset` to the end.
    """

    arrays: tuple[_PlacedArray, ...]
    state_offset: int
    nbytes: int

    @classmethod
    def of(cls, rows: Rows, state_columns: Collection[str]) -> SectionImage:
        """The image of a section like this one."""
        placed: list[_PlacedArray] = []
        end = _place(placed, 0, [(_IDS, rows.ids), *_columns(rows, state_columns, is_state=False)])
        state_offset = _up(end, PAGE_BYTES)
        end = _place(placed, state_offset, [*_columns(rows, state_columns, is_state=True)])
        return cls(tuple(placed), state_offset, max(_up(end, PAGE_BYTES), PAGE_BYTES))

    def write(self, rows: Rows, buffer: SpillBuffer) -> None:
        """Copy the section into the buffer."""
        arrays = {_IDS: rows.ids, **dict(rows.arrays())}
        for each in self.arrays:
            each.view(buffer)[...] = arrays[each.name]

    def rows(self, buffer: SpillBuffer) -> Rows:
        """The section as views of the buffer."""
        arrays = {each.name: each.view(buffer) for each in self.arrays}
        ids = arrays.pop(_IDS)
        return Rows.from_arrays(ids, arrays)


def _columns(
    rows: Rows, state_columns: Collection[str], *, is_state: bool
) -> Iterator[tuple[str, Array]]:
    for name, array in rows.arrays():
        if (name.partition(":")[0] in state_columns) == is_state:
            yield name, array


def _place(placed: list[_PlacedArray], end: int, arrays: list[tuple[str, Array]]) -> int:
    for name, array in arrays:
        start = _up(end, _ALIGNMENT)
        placed.append(_PlacedArray(name, array.dtype, array.shape, start))
        end = start + array.nbytes
    return end


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
