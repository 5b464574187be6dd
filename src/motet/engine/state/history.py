"""Finished jobs, in growing arrays."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Ints, read_only
from motet.domain.snapshot import History

_GROWTH = 1.01


class FinishedJobs:
    """Appends finished jobs; `history` is a view, rebuilt only after a job has finished."""

    def __init__(self) -> None:
        self._size = 0
        self._hold(np.zeros((2, 1024), dtype=np.int64))
        self._sorted: Ints = np.zeros(0, dtype=np.int64)
        self._history: History | None = None

    def add(self, attained_gpu_us: int, gpus: int) -> None:
        """A job has finished."""
        if self._size == self._data.shape[1]:
            self._hold(np.concatenate([self._data, np.zeros_like(self._data)], axis=1))
        self._data[0, self._size] = attained_gpu_us
        self._data[1, self._size] = gpus
        self._size += 1
        self._history = None

    def copy(self) -> FinishedJobs:
        """An independent copy."""
        twin = FinishedJobs()
        twin._hold(self._data.copy())
        twin._size, twin._sorted = self._size, self._sorted
        return twin

    @property
    def history(self) -> History:
        """All finished jobs, oldest first."""
        if self._history is None:
            attained, gpus = self._seen[:, : self._size]
            if self._size > len(self._sorted) * _GROWTH:
                self._sorted = read_only(_merged(self._sorted, attained[len(self._sorted) :]))
            self._history = History(attained, gpus, self._sorted)
        return self._history

    def _hold(self, data: Ints) -> None:
        self._data, self._seen = data, read_only(data)


def _merged(ascending: Ints, more: Ints) -> Ints:
    """All values in ascending order; a stable sort merges two ascending runs."""
    return np.sort(np.concatenate([ascending, np.sort(more)]), kind="stable")
