"""The list of jobs for the API: a row per job, and one for each array. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from motet.interfaces.server.views import array_line, job_line
from motet.live.jobs.job import JobArray, LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.state import LiveState


def jobs_document(
    live: LiveState, states: frozenset[JobState], after: int, limit: int, array: int | None
) -> dict[str, Any]:
    """`array`: only its jobs; 0: all jobs, without rows of arrays; None: an array is a row, which
    has the states of its jobs. Raises NotFound."""
    if array and array not in live.arrays:
        live.jobs_of(array)
    lines: list[dict[str, Any]] = []
    for each in _rows(live, after, array):
        if states and not _has_one_of(each, states):
            continue
        if len(lines) == limit:
            return {"jobs": lines, "next": lines[-1]["id"]}
        lines.append(_line(live, each))
    return {"jobs": lines, "next": None}


def _line(live: LiveState, row: LiveJob | JobArray) -> dict[str, Any]:
    return job_line(live, row) if isinstance(row, LiveJob) else array_line(live, row)


def _rows(live: LiveState, after: int, array: int | None) -> Iterator[LiveJob | JobArray]:
    if array:
        yield from (job for job in live.jobs_of(array) if job.number > after)
        return
    for number in range(after + 1, live.next_job):
        if number in live.arrays:
            if array is None:
                yield live.arrays[number]
        elif array == 0 or live.jobs[number].array is None:
            yield live.jobs[number]


def _has_one_of(row: LiveJob | JobArray, states: frozenset[JobState]) -> bool:
    return row.state in states if isinstance(row, LiveJob) else bool(states & row.counts.keys())
