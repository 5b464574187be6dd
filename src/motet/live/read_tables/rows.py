"""Rows of the read tables, made from jobs. Pure."""

from __future__ import annotations

from typing import NamedTuple

from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import JobArray, LiveJob

ARRAY = "array"


class JobRow(NamedTuple):
    """A job by what people look for, or an array as a job of its own (`kind` is ARRAY).

    `array`: to which it belongs; 0: to none. Times are Unix microseconds; None: not yet.
    """

    number: int
    name: str
    user: str
    queue: str
    priority: int
    kind: str
    processes: int
    state: str
    submitted_us: int
    started_us: int | None
    ended_us: int | None
    attempts: int
    array: int


class AttemptRow(NamedTuple):
    """An attempt on the time axis. `ended_us`: None while processes of it may run. `began`: the
    attempt whose processes it goes on with, or itself.
    `borrowed_byte_s` can exceed the integers of SQLite: 16 TiB of lenders for a week."""

    job: int
    attempt: int
    requested_us: int
    running_us: int | None
    ended_us: int | None
    processes: int
    outcome: str
    stop_cause: str
    borrowed_byte_s: float = 0.0
    began: int = 0


def job_row(job: LiveJob) -> JobRow:
    """The row of a job as it is now."""
    attempt = job.attempt
    started_us = next((it.running_us for it in job.attempts if it.running_us is not None), None)
    return JobRow(
        job.number,
        job.spec.name,
        job.user,
        job.spec.queue,
        job.spec.priority,
        job.spec.kind,
        job.spec.processes if attempt is None else attempt.processes,
        job.state.value,
        job.submitted_us,
        started_us,
        job.ended_us,
        len(job.attempts),
        0 if job.array is None else job.array.number,
    )


def array_row(array: JobArray) -> JobRow:
    """The row of an array as it is now: its first job with sums over all."""
    rows = [job_row(each) for each in array.jobs]
    starts = [row.started_us for row in rows if row.started_us is not None]
    return rows[0]._replace(
        number=array.number,
        kind=ARRAY,
        processes=array.processes,
        state=array.state.value,
        started_us=min(starts, default=None),
        ended_us=array.ended_us,
        attempts=sum(row.attempts for row in rows),
        array=0,
    )


def attempt_row(job: LiveJob, attempt: Attempt) -> AttemptRow:
    """The row of an attempt as it is now."""
    return AttemptRow(
        job.number,
        attempt.number,
        attempt.requested_us,
        attempt.running_us,
        attempt.ended_us,
        attempt.processes,
        attempt.outcome.value if attempt.outcome else "",
        attempt.stop_cause.value if attempt.stop_cause else "",
        float(attempt.borrowed_byte_s_sum),
        attempt.began,
    )
