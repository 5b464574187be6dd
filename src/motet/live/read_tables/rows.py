"""Rows of the read tables, made from jobs. Pure."""

from __future__ import annotations

from typing import NamedTuple

from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob


class JobRow(NamedTuple):
    """A job by what people look for. Times are Unix microseconds; None: not yet."""

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


class AttemptRow(NamedTuple):
    """An attempt on the time axis. `ended_us`: None while processes of it may run."""

    job: int
    attempt: int
    requested_us: int
    running_us: int | None
    ended_us: int | None
    processes: int
    outcome: str
    stop_cause: str


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
    )
