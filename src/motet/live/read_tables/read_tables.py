"""Jobs and attempts in SQLite, with an index for every column by which a list is sorted.

The file holds nothing that the journal lacks, so it is not durable and begins empty.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.journal.private_file import close_to_others
from motet.live.read_tables.rows import (
    ARRAY,
    AttemptRow,
    JobRow,
    array_row,
    attempt_row,
    job_row,
)
from motet.live.read_tables.usage import UsedSlots

SortColumn: TypeAlias = Literal[
    "number", "name", "user", "queue", "priority", "processes", "state", "submitted_us",
    "started_us", "ended_us",
]  # fmt: skip
SORT_COLUMNS: tuple[SortColumn, ...] = get_args(SortColumn)
NAME = "read.db"

_SCHEMA = (
    f"""
CREATE TABLE jobs ({", ".join(JobRow._fields)}, PRIMARY KEY (number)) WITHOUT ROWID;
CREATE TABLE attempts ({", ".join(AttemptRow._fields)}, PRIMARY KEY (job, attempt)) WITHOUT ROWID;
CREATE INDEX attempts_by_end ON attempts (coalesce(ended_us, {2**62}), requested_us);
"""
    + "".join(f"CREATE INDEX jobs_by_{each} ON jobs ({each}, number);" for each in SORT_COLUMNS[1:])
    + "CREATE INDEX jobs_by_state_and_queue ON jobs (state, queue, number);"
)


@dataclass(frozen=True, slots=True)
class JobQuery:
    """A page of the list. `states`: empty for all; `queue`, `user`: exact; `name`: its beginning.
    `array`: only its jobs; 0: jobs that belong to none, and a row for each array.

    `page`: from 1; -1 is the last one.
    """

    states: frozenset[JobState] = field(default_factory=frozenset)
    queue: str = ""
    user: str = ""
    name: str = ""
    array: int = 0
    sort: SortColumn = "number"
    descending: bool = True
    page: int = 1
    size: int = 50


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """Ids of the jobs of one page. `total`: of all pages; `page`: the number of this one."""

    numbers: tuple[int, ...]
    total: int
    page: int
    pages: int


class ReadTables:
    """Written by the thread of the master, read by any."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of this user alone."""
        self._path = folder / NAME
        self._own = threading.local()
        self._writer: sqlite3.Connection | None = None
        self._borrowed: dict[tuple[int, int], float] = {}

    def follow(self, jobs: Sequence[LiveJob]) -> None:
        """The first time all jobs, which replace what is in the file, later those that changed."""
        if self._writer is None:
            self._begin()
            self._put(jobs, [attempt_row(job, each) for job in jobs for each in job.attempts])
        else:
            self._put(jobs, [row for job in jobs for row in self._changed_attempts(job)])

    def _changed_attempts(self, job: LiveJob) -> Iterator[AttemptRow]:
        """One attempt may have ended as the next one began. What one before has borrowed may be
        known later still: when its lenders answer."""
        for attempt in job.attempts[:-2]:
            written = self._borrowed.get((job.number, attempt.number), 0.0)
            if float(attempt.borrowed_byte_s_sum) != written:
                yield attempt_row(job, attempt)
        yield from (attempt_row(job, each) for each in job.attempts[-2:])

    def _begin(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(NAME + suffix).unlink(missing_ok=True)
        self._writer = self._connect()
        self._writer.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;" + _SCHEMA)

    def _put(self, jobs: Sequence[LiveJob], attempts: Sequence[AttemptRow]) -> None:
        assert self._writer is not None
        self._writer.execute("BEGIN")
        arrays = {job.array.number: job.array for job in jobs if job.array is not None}
        rows = [*map(job_row, jobs), *map(array_row, arrays.values())]
        self._writer.executemany(_replace("jobs", JobRow._fields), rows)
        self._writer.executemany(_replace("attempts", AttemptRow._fields), attempts)
        self._writer.execute("COMMIT")
        for row in attempts:
            if row.borrowed_byte_s:
                self._borrowed[row.job, row.attempt] = row.borrowed_byte_s

    def find(self, query: JobQuery) -> FoundJobs:
        """Ids in the wanted order; ties in the order of submission."""
        where, values = _condition(query)
        total: int = self._read(f"SELECT count(*) FROM jobs {where}", values)[0][0]
        pages = max(1, -(-total // query.size))
        page = pages if query.page < 0 else min(max(query.page, 1), pages)
        direction = "DESC" if query.descending else "ASC"
        assert query.sort in SORT_COLUMNS
        found = self._read(
            f"SELECT number FROM jobs {where} ORDER BY {query.sort} {direction}, "
            f"number {direction} LIMIT ? OFFSET ?",
            [*values, query.size, (page - 1) * query.size],
        )
        return FoundJobs(tuple(number for (number,) in found), total, page, pages)

    def counts(self) -> dict[JobState, int]:
        """How many jobs have each state; states without a job are left out."""
        counted = "SELECT state, count(*) FROM jobs WHERE kind != ? GROUP BY state"
        found = self._read(counted, [ARRAY])
        return {JobState(state): count for state, count in found}

    def ended_before(self, at_us: int) -> set[int]:
        """Jobs that ended before a time."""
        return {
            number
            for (number,) in self._read("SELECT number FROM jobs WHERE ended_us < ?", [at_us])
        }

    def open_attempts(self) -> list[tuple[int, int]]:
        """Jobs, and the attempts with which their processes began, of all that may run."""
        found = self._read(
            f"SELECT job, began FROM attempts WHERE coalesce(ended_us, {2**62}) = {2**62}", []
        )
        return [(job, began) for job, began in found]

    def attempts_since(self, at_us: int) -> list[tuple[int, int]]:
        """As `open_attempts`, and those that have ended since then."""
        ended = f"coalesce(ended_us, {2**62}) >= ?"
        found = self._read(f"SELECT DISTINCT job, began FROM attempts WHERE {ended}", [at_us])
        return [(job, began) for job, began in found]

    def attempts_between(self, begin_us: int, end_us: int, most_jobs: int) -> list[AttemptRow]:
        """Attempts that held slots in a period, of the latest jobs that had any, by job."""
        chosen = f"coalesce(ended_us, {2**62}) >= ? AND requested_us <= ?"
        found = self._read(
            f"SELECT {', '.join(AttemptRow._fields)} FROM attempts WHERE {chosen} AND job IN "
            f"(SELECT DISTINCT job FROM attempts WHERE {chosen} ORDER BY job DESC LIMIT ?) "
            "ORDER BY job, attempt",
            [begin_us, end_us, begin_us, end_us, most_jobs],
        )
        return [AttemptRow(*each) for each in found]

    def used_slots(self) -> Iterator[UsedSlots]:
        """All attempts with their jobs, by job and attempt."""
        found = self._read(
            "SELECT j.number, j.user, j.queue, j.submitted_us, a.requested_us, a.ended_us, "
            "a.processes, a.stop_cause, a.borrowed_byte_s, a.outcome FROM jobs j "
            "LEFT JOIN attempts a ON a.job = j.number WHERE j.kind != ? "
            "ORDER BY j.number, a.attempt",
            [ARRAY],
        )
        return (UsedSlots(*each) for each in found)

    def close(self) -> None:
        """End the writer."""
        if self._writer is not None:
            self._writer.close()

    def _connect(self) -> sqlite3.Connection:
        close_to_others(self._path)
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)

    def _read(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """By a connection of the calling thread, which the writer does not block."""
        if not hasattr(self._own, "reader"):
            self._own.reader = self._connect()
        found: list[tuple[Any, ...]] = self._own.reader.execute(statement, values).fetchall()
        return found


def _replace(table: str, columns: Sequence[str]) -> str:
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(columns))})"


def _condition(query: JobQuery) -> tuple[str, list[object]]:
    """WHERE and its values."""
    terms, values = ["array = ?"], list[object]([query.array])
    if query.states:
        terms.append(f"state IN ({', '.join('?' * len(query.states))})")
        values += sorted(state.value for state in query.states)
    for column in ("queue", "user"):
        if given := getattr(query, column):
            terms.append(f"{column} = ?")
            values.append(given)
    if query.name:  # Not LIKE, whose wildcards a name may contain; by this an index can be used.
        terms.append("name >= ? AND name < ?")
        values += [query.name, query.name + "\U0010ffff"]
    return f"WHERE {' AND '.join(terms)}", values
