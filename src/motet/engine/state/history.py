"""Finished jobs, in growing arrays."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Ints, read_only
from motet.domain.snapshot import History

_GROWTH = 1.01


class FinishedJobs:
    """Appends finished jobs; `history` is a view, rebuilt only after a job has finished."""

    def __init__(self) -> None:
        self._data: Ints = np.zeros((2, 1024), dtype=np.int64)
        self._size = 0
        self._sorted: Ints = np.zeros(0, dtype=np.int64)
        self._history: History | None = None

    def add(self, attained_gpu_us: int, gpus: int) -> None:
        """A job has finished."""
        if self._size == self._data.shape[1]:
            self._data = np.concatenate([self._data, np.zeros_like(self._data)], axis=1)
        self._data[:, self._size] = attained_gpu_us, gpus
        self._size += 1
        self._history = None

    def copy(self) -> FinishedJobs:
        """An independent copy."""
        twin = FinishedJobs()
        twin._data, twin._size, twin._sorted = self._data.copy(), self._size, self._sorted
        return twin

    @property
    def history(self) -> History:
        """All finished jobs, oldest first."""
        if self._history is None:
            attained, gpus = read_only(self._data)[:, : self._size]
            if self._size > len(self._sorted) * _GROWTH:
                self._sorted = read_only(np.sort(attained))
            self._history = History(attained, gpus, self._sorted)
        return self._history
