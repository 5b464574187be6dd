"""The values of one block of the model on a spill target."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.spilling.section_image import PAGE_BYTES
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.targets.spill_target import SpillTarget


class SpilledValues:
    """A ValuePlace. The values are changed by mini-batches, so that each change is written."""

    def __init__(self, target: SpillTarget) -> None:
        self._target = target
        self._place: int | None = None
        self._dtype: np.dtype[np.generic] = np.dtype(np.float64)
        self._shape: tuple[int, ...] = ()
        self._nbytes = 0

    def save(self, values: Array) -> None:
        """See ValuePlace. All values that are saved have the same shape and type."""
        if self._place is None:
            self._dtype, self._shape = values.dtype, values.shape
            self._nbytes = max(-(-values.nbytes // PAGE_BYTES), 1) * PAGE_BYTES
            self._place = self._target.reserve(self._nbytes)
        with new_buffer(self._nbytes) as buffer:
            view = np.frombuffer(buffer, self._dtype, values.size).reshape(self._shape)
            view[...] = values
            del view
            self._target.write(self._place, buffer)

    def load(self) -> Array:
        """See ValuePlace; the memory is given back to the system with the array."""
        assert self._place is not None
        buffer = new_buffer(self._nbytes)
        self._target.read(self._place, buffer)
        count = int(np.prod(self._shape, dtype=np.int64))
        values: Array = np.frombuffer(buffer, self._dtype, count).reshape(self._shape)
        return values
