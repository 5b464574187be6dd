"""The active jobs as columns of one array; a job that leaves gives its row to the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motet.domain.snapshot import JobTable

Ints = NDArray[np.int64]
JOB_COLUMNS = tuple(field.name for field in fields(JobTable))
_FIRST_CAPACITY = 256


class ActiveTable:
    """Columns of a `JobTable`, then any others (a policy's memory, a driver's own).

    `column(name)` and `jobs` are views: valid until a job enters or leaves, written in place.
    """

    def __init__(self, others: Mapping[str, int]) -> None:
        """`others`: further columns with the value of a new job."""
        self._index = {name: place for place, name in enumerate((*JOB_COLUMNS, *others))}
        self._template = np.zeros(len(self._index), dtype=np.int64)
        for name, value in others.items():
            self._template[self._index[name]] = value
        self._data = np.zeros((len(self._index), _FIRST_CAPACITY), dtype=np.int64)
        self._rows: dict[int, int] = {}
        self._views: dict[str, Ints] = {}
        self._jobs: JobTable | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> Ints:
        """One column of the present jobs."""
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = self._data[self._index[name], : len(self._rows)]
        return view

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self._index

    def add_by_code(self, first: str, codes: Ints, amount: int) -> None:
        """Add to one of several adjacent columns, of which `first` has code 0, row by row."""
        _add_by_code(self._data, self._index[first], codes, amount)

    @property
    def jobs(self) -> JobTable:
        """All present jobs."""
        if self._jobs is None:
            self._jobs = JobTable(*self._data[: len(JOB_COLUMNS), : len(self._rows)])
        return self._jobs

    def row_of(self, number: int) -> int:
        """Where a job stands now."""
        return self._rows[number]

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def add(self, values: Mapping[str, int]) -> None:
        """A job enters; columns that are not named get the value of a new job."""
        row = len(self._rows)
        if row == self._data.shape[1]:
            self._data = np.concatenate([self._data, np.zeros_like(self._data)], axis=1)
        self._data[:, row] = self._template
        for name, value in values.items():
            self._data[self._index[name], row] = value
        self._rows[values["number"]] = row
        self._forget_views()

    def remove(self, number: int) -> None:
        """A job leaves."""
        row, last = self._rows.pop(number), len(self._rows)
        if row != last:
            self._data[:, row] = self._data[:, last]
            self._rows[int(self._data[self._index["number"], row])] = row
        self._forget_views()

    def _forget_views(self) -> None:
        self._views.clear()
        self._jobs = None


@njit(cache=True)
def _add_by_code(data: Ints, first: int, codes: Ints, amount: int) -> None:
    for row in range(len(codes)):
        data[first + codes[row], row] += amount
