"""Data blocks that have arrived, on a spill target until sections are cut from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.core.rows import Column, Ragged, Rows
from motet.runtime.spilling.section_image import PAGE_BYTES
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.targets.spill_target import SpillTarget


@dataclass(frozen=True)
class _ParkedArray:
    """`shape`: of the whole array, whose first axis is what `read` selects from."""

    target: SpillTarget
    place: int
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, target: SpillTarget, array: Array) -> _ParkedArray:
        """Write an array. Raises JobFailed."""
        nbytes = max(-(-array.nbytes // PAGE_BYTES), 1) * PAGE_BYTES
        place = target.reserve(nbytes)
        with new_buffer(nbytes) as buffer:
            view = np.frombuffer(buffer, array.dtype, array.size).reshape(array.shape)
            view[...] = array
            del view
            target.write(place, buffer)
        return cls(target, place, array.dtype, array.shape)

    def read(self, low: int, high: int) -> Array:
        """Entries low..high-1, as an array of its own. Raises JobFailed."""
        each = int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize
        first = low * each // PAGE_BYTES * PAGE_BYTES
        nbytes = max(-(-(high * each - first) // PAGE_BYTES), 1) * PAGE_BYTES
        with new_buffer(nbytes) as buffer:
            self.target.read(self.place + first, buffer)
            count = (high - low) * each // self.dtype.itemsize
            view = np.frombuffer(buffer, self.dtype, count, low * each - first)
            found: Array = view.reshape(high - low, *self.shape[1:]).copy()
            del view
        return found


class ParkedRows:
    """Instances on a target; of ragged columns, the offsets are in memory."""

    def __init__(self, target: SpillTarget, rows: Rows) -> None:
        """Raises JobFailed."""
        self.nbytes = rows.nbytes
        self._ids = rows.ids.copy()
        self._fixed: dict[str, _ParkedArray] = {}
        self._ragged: dict[str, tuple[Indices, _ParkedArray]] = {}
        for name, column in rows.columns.items():
            if isinstance(column, Ragged):
                values = _ParkedArray.of(target, column.values)
                self._ragged[name] = column.offsets.copy(), values
            else:
                self._fixed[name] = _ParkedArray.of(target, column)
        self._order = list(rows.columns)

    def __len__(self) -> int:
        return len(self._ids)

    def slice(self, low: int, high: int) -> Rows:
        """Instances low..high-1, read from the target. Raises JobFailed."""
        columns = {name: self._column(name, low, high) for name in self._order}
        return Rows(self._ids[low:high], columns)

    def _column(self, name: str, low: int, high: int) -> Column:
        if name in self._fixed:
            return self._fixed[name].read(low, high)
        offsets, values = self._ragged[name]
        start, stop = int(offsets[low]), int(offsets[high])
        return Ragged(offsets[low : high + 1] - start, values.read(start, stop))
