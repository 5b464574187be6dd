"""The active jobs as columns of one array; the last job moves to the row of a job that leaves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numba import njit

from motet.domain.arrays import Ints, read_only
from motet.domain.errors import BadInput
from motet.domain.snapshot import JOB_COLUMNS as JOB_COLUMNS
from motet.domain.snapshot import UNKNOWN, JobTable
from motet.domain.wait import Wait
from motet.engine.state.submission_order import insert_last_row, remove_row

_NEW_JOB = {
    "experiment": UNKNOWN,
    "model": UNKNOWN,
    "worker_gpus": 1,
    "first_start_us": UNKNOWN,
    "last_start_us": UNKNOWN,
    "partner": UNKNOWN,
    "sharers": 1,
    "remaining_us": UNKNOWN,
    "rate": 10_000,
    "alone_rate": 10_000,
}
"""Columns whose initial value is not 0."""
_ACCOUNTS = (
    "held_gpus",
    "running_since_us",
    "sharers",
    "executed_us",
    "attained_gpu_us",
    "waiting_us",
    "wait_code",
)
_RUNS_COLUMN = f"waited_{Wait.RUNS.key}_us"
_FIRST_CAPACITY = 264
"""Rows; an odd number of cache lines. The same row of all columns would be in the same few lines
of a cache if their distance were a power of two."""
_MOST_KEPT_VIEWS = 4096


def check_memory_columns(memory: Mapping[str, int], own: Mapping[str, int]) -> None:
    """Raises BadInput for a column of a policy that has the name of another column."""
    taken = memory.keys() & {*JOB_COLUMNS, *own}
    if taken:
        raise BadInput(
            f"memory_columns names {min(taken)!r}, which is already a column; choose another name"
        )


class _Views:
    """The first `size` rows as columns: `jobs` and `columns` are writable, `seen_...` are not."""

    def __init__(
        self, jobs: JobTable, seen_jobs: JobTable, seen_memory: Mapping[str, Ints]
    ) -> None:
        self.jobs, self.seen_jobs, self.seen_memory = jobs, seen_jobs, seen_memory
        self.columns: dict[str, Ints] = {}


class ActiveTable:
    """Columns of a `JobTable`, then those of the policy, of the engine and of the driver.

    `column(name)` and `jobs` are writable views, valid until a job enters or leaves. `seen_jobs`
    and `seen_memory` are read-only views of the same data.
    """

    def __init__(self, memory: Mapping[str, int], own: Mapping[str, int]) -> None:
        """Columns of the policy, and of engine and driver, with the value of a new job."""
        new = {**dict.fromkeys(JOB_COLUMNS, 0), **_NEW_JOB, **memory, **own}
        self._memory_names = tuple(memory)
        self._index = {name: place for place, name in enumerate(new)}
        self._accounts = np.array([self._index[name] for name in _ACCOUNTS])
        self._template = np.array([*new.values()], dtype=np.int64)
        self._indices: dict[tuple[str, ...], Ints] = {}
        self._rows: dict[int, int] = {}
        shape = len(self._index), _FIRST_CAPACITY
        self._hold(np.zeros(shape, dtype=np.int64), np.zeros(_FIRST_CAPACITY, dtype=np.int64))

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> Ints:
        """One column of the present jobs."""
        found = self._views.columns
        if name not in found:
            found[name] = self._data[self._index[name], : len(self._rows)]
        return found[name]

    def of_job(self, number: int, names: tuple[str, ...]) -> Ints:
        """These columns of one job."""
        if names not in self._indices:
            self._indices[names] = np.array([self._index[name] for name in names])
        # In two steps: one that does both takes four times as long.
        values: Ints = self._data[:, self._rows[number]][self._indices[names]]
        return values

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self._index

    def pass_time(self, passed_us: int, waited: str, *, has_shared: bool) -> None:
        """Add elapsed time to the accounts of all jobs: service, or a wait and its reason.

        A job whose start has been decided, but not executed, still waits. `waited`: the first of
        adjacent columns, one for every code in `wait_code`. `has_shared`: whether jobs that share
        GPUs attain equal parts of their service.
        """
        rows, first = len(self._rows), self._index[waited]
        _pass_time(self._data, rows, self._accounts, first, passed_us, has_shared)

    def move_time(self, number: int, passed_us: int) -> None:
        """Count time of a job that holds GPUs as service, not as a wait; below 0: the reverse.

        It has held them for that long, since its last start.
        """
        if not passed_us:
            return
        jobs, row = self.jobs, self._rows[number]
        jobs.executed_us[row] += passed_us
        jobs.attained_gpu_us[row] += passed_us * jobs.held_gpus[row] // jobs.sharers[row]
        jobs.waiting_us[row] -= passed_us
        self.column(_RUNS_COLUMN)[row] -= passed_us

    @property
    def jobs(self) -> JobTable:
        """All active jobs."""
        return self._views.jobs

    @property
    def seen_jobs(self) -> JobTable:
        """As `jobs`, read-only."""
        return self._views.seen_jobs

    @property
    def seen_memory(self) -> Mapping[str, Ints]:
        """The policy's columns, read-only."""
        return self._views.seen_memory

    def row_of(self, number: int) -> int:
        """The present row of a job."""
        return self._rows[number]

    def __contains__(self, number: int) -> bool:
        return number in self._rows

    def add(self, values: Mapping[str, int]) -> None:
        """Add a job; columns that are not named get the value of a new job."""
        row = len(self._rows)
        if row == self._data.shape[1]:
            self._grow()
        self._data[:, row] = self._template
        whole = self._whole
        for name, value in values.items():
            whole[name][row] = value
        self._rows[values["number"]] = row
        self._look()
        jobs = self.jobs
        insert_last_row(self._order, jobs.submit_us, jobs.number)

    def columns(self) -> dict[str, Ints]:
        """A copy of every column of the present jobs, by name."""
        size = len(self._rows)
        return {name: self._data[place, :size].copy() for name, place in self._index.items()}

    def values(self) -> Ints:
        """A copy of all columns of the present jobs, for `put_back`."""
        return self._data[:, : len(self._rows)].copy()

    def put_back(self, values: Ints) -> None:
        """Undo changes since `values`; the same jobs must be here."""
        self._data[:, : len(self._rows)] = values

    def row(self, number: int) -> dict[str, int]:
        """All columns of one job."""
        values = self._data[:, self._rows[number]].tolist()
        return dict(zip(self._index, values, strict=True))

    def completed(self, values: Mapping[str, int]) -> dict[str, int]:
        """All columns of a job that is not here: columns that are not named get the value of a new
        job, names without a column are left out."""
        new: dict[str, int] = dict(zip(self._index, self._template.tolist(), strict=True))
        return {name: values.get(name, value) for name, value in new.items()}

    def restore(self, columns: Mapping[str, Ints]) -> None:
        """Replace all jobs by these, in their order. Columns that are not named get the value of a
        new job; names without a column are ignored."""
        numbers = columns["number"]
        capacity = _FIRST_CAPACITY
        while capacity < len(numbers):
            capacity = _next_capacity(capacity)
        data = np.zeros((len(self._index), capacity), dtype=np.int64)
        data[:, : len(numbers)] = self._template[:, None]
        for name in self._index.keys() & columns.keys():
            data[self._index[name], : len(numbers)] = columns[name]
        self._rows = {number: row for row, number in enumerate(numbers.tolist())}
        order = np.zeros(capacity, dtype=np.int64)
        order[: len(numbers)] = np.lexsort(
            (numbers, data[self._index["submit_us"], : len(numbers)])
        )
        self._hold(data, order)

    def remove(self, number: int) -> None:
        """Remove a job."""
        jobs, row = self.jobs, self._rows.pop(number)
        last = len(self._rows)
        remove_row(self._order, jobs.submit_us, jobs.number, row)
        if row != last:
            self._data[:, row] = self._data[:, last]
            self._rows[int(self._data[self._index["number"], row])] = row
        self._look()

    def _grow(self) -> None:
        rows = self._data.shape[1]
        more = _next_capacity(rows) - rows
        data = np.pad(self._data, ((0, 0), (0, more)))
        self._hold(data, np.pad(self._order, (0, more)))

    def _hold(self, data: Ints, order: Ints) -> None:
        """Use `data` for the rows, and `order` for the rows by submission."""
        self._data, self._seen_data = data, read_only(data)
        self._whole = dict(zip(self._index, data, strict=True))
        self._order, self._seen_order = order, read_only(order)
        self._views_by_size: dict[int, _Views] = {}
        self._look()

    def _look(self) -> None:
        """Select the views of the present rows. Views are cached because numbers of jobs recur."""
        size, kept = len(self._rows), self._views_by_size
        if size not in kept:
            if len(kept) == _MOST_KEPT_VIEWS:
                kept.clear()
            kept[size] = self._views_of(size)
        self._views = kept[size]

    def _views_of(self, size: int) -> _Views:
        seen = self._seen_data[:, :size]
        memory = {name: seen[self._index[name]] for name in self._memory_names}
        order, count = self._seen_order[:size], len(JOB_COLUMNS)
        jobs, seen_jobs = (
            JobTable(*[*each[:count, :size], order]) for each in (self._data, self._seen_data)
        )
        return _Views(jobs, seen_jobs, MappingProxyType(memory))


def _next_capacity(capacity: int) -> int:
    """The next odd number of cache lines of 8 rows after a double one."""
    return 2 * capacity + 8


@njit(cache=True)
def _pass_time(
    data: Ints,
    rows: int,
    places: Ints,
    first_waited: int,
    passed_us: int,
    has_shared: bool,
) -> None:
    held, begun, sharers, executed, attained, waiting, code = places
    for row in range(rows):
        gpus = data[held, row]
        if gpus > 0 and data[begun, row] != UNKNOWN:
            service_gpu_us = passed_us * gpus
            if has_shared and data[sharers, row] > 1:
                service_gpu_us //= data[sharers, row]
            data[executed, row] += passed_us
            data[attained, row] += service_gpu_us
        else:
            data[waiting, row] += passed_us
        data[first_waited + data[code, row], row] += passed_us
