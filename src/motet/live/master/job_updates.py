"""Queues, and changes of a job's queue or priority. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from motet.domain.errors import BadInput, UnknownName
from motet.domain.events import QueueAdded, Updated
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import NAME_PATTERN
from motet.live.master.facts import JobUpdated, QueueCreated
from motet.live.master.intake_result import Intake, one_intake
from motet.live.master.state import LiveState


@dataclass(frozen=True, slots=True)
class CreateQueue:
    """A user creates a queue."""

    name: str
    user: str


@dataclass(frozen=True, slots=True)
class UpdateJob:
    """A user gives a job another priority or queue; None: as it is."""

    job: int
    user: str
    priority: int | None = None
    queue: str | None = None


def queue_number(state: LiveState, name: str) -> int:
    """The engine's number of a queue. Raises BadInput that names the known ones."""
    if name not in state.queues:
        unknown = UnknownName("queue", name, state.queues)
        raise BadInput(f"{unknown}; create it: motet queue create {name}")
    return state.queues.index(name)


def create_or_update(state: LiveState, given: CreateQueue | UpdateJob) -> Intake:
    """Raises NotFound, BadInput."""
    if isinstance(given, UpdateJob):
        return _update(state, given)
    if not re.fullmatch(NAME_PATTERN, given.name):
        raise BadInput(
            f"queue {given.name[:80]!r}: give 1 to 63 letters, digits, '.', '_' or '-', a letter "
            "or digit first and last"
        )
    if given.name in state.queues:
        return Intake()
    return Intake((QueueCreated(given.name, given.user),), (QueueAdded(given.name),))


def _update(state: LiveState, given: UpdateJob) -> Intake:
    """A job, or those of an array that have not ended."""
    if given.job not in state.arrays:
        return _update_job(state, state.job(given.job), given)
    jobs = [job for job in state.jobs_of(given.job) if not job.state.is_final]
    if not jobs:
        raise BadInput(f"all jobs of {given.job} have ended; they can no longer be changed")
    return one_intake([_update_job(state, job, given) for job in jobs])


def _update_job(state: LiveState, job: LiveJob, given: UpdateJob) -> Intake:
    """The job keeps its time of submission, and so its place among those of equal priority."""
    if job.state.is_final:
        raise BadInput(f"job {job.number} is {job.state}; it can no longer be changed")
    columns: dict[str, int] = {}
    if given.priority is not None and given.priority != job.spec.priority:
        columns["priority"] = given.priority
    if given.queue is not None and given.queue != job.spec.queue:
        columns["queue"] = queue_number(state, given.queue)
    if not columns:
        return Intake()
    fact = JobUpdated(job.number, given.user, given.priority, given.queue)
    events = () if job.is_held else (Updated(job.number, columns),)
    return Intake((fact,), events)
