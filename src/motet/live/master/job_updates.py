"""Changes of queues, of a job's queue, priority and limit, and of the size it proposes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.errors import BadInput, MotetError
from motet.domain.events import SizeProposed, Updated
from motet.domain.units import duration_words, written_duration
from motet.live.jobs.attempt import Attempt, AttemptPhase
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import TrainingSpec
from motet.live.launcher.messages import SizeWish
from motet.live.master.facts import JobUpdated, SizeSuggested
from motet.live.master.intake_result import Intake, one_intake
from motet.live.master.state import LiveState
from motet.live.master.submissions.submission import least_slots
from motet.live.queues.queue_changes import QueueRequest, change_queues, check_size
from motet.live.time_limits.time_limit import has_used_up, with_limit


@dataclass(frozen=True, slots=True)
class UpdateJob:
    """A user gives a job another priority, queue or `max_duration` (0: none); None: as it is.

    `may_raise_limit`: whether the user may also give it more time.
    """

    job: int
    user: str
    priority: int | None = None
    queue: str | None = None
    max_duration: float | None = None
    may_raise_limit: bool = True


class LimitRaised(MotetError):
    """The user may not give the job more time."""


def _update(state: LiveState, now_us: int, given: UpdateJob) -> Intake:
    """A job, or those of an array that have not ended."""
    if given.job not in state.arrays:
        return _update_job(state, now_us, state.job(given.job), given)
    jobs = [job for job in state.jobs_of(given.job) if not job.state.is_final]
    if not jobs:
        raise BadInput(f"all jobs of {given.job} have ended; they can no longer be changed")
    return one_intake([_update_job(state, now_us, job, given) for job in jobs])


def _update_job(state: LiveState, now_us: int, job: LiveJob, given: UpdateJob) -> Intake:
    """The job keeps its time of submission, and so its place among those of equal priority."""
    if job.state.is_final:
        raise BadInput(f"job {job.number} is {job.state}; it can no longer be changed")
    columns: dict[str, int] = {}
    if given.priority is not None and given.priority != job.spec.priority:
        columns["priority"] = given.priority
    if given.queue is not None and given.queue != job.spec.queue:
        columns["queue"] = state.queue_book.number_for_job(given.queue)
        if state.cluster is not None and state.cluster.names:
            slots, least = sum(state.cluster.slots), least_slots(state.cluster, job.spec)
            queues = state.queue_book.in_force
            check_size(queues, columns["queue"], slots, least, f"job {job.number} needs")
    limit_s = _new_limit_s(job, now_us, given)
    if not columns and limit_s is None:
        return Intake()
    fact = JobUpdated(job.number, given.user, given.priority, given.queue, limit_s)
    is_unknown = job.is_held or job.is_timed_out
    events = () if is_unknown or not columns else (Updated(job.number, columns),)
    return Intake((fact,), events)


def _new_limit_s(job: LiveJob, now_us: int, given: UpdateJob) -> float | None:
    """The limit that the user gives; None: it stays as it is. Raises BadInput, LimitRaised."""
    wanted_s, present_s = given.max_duration, job.spec.max_duration
    if wanted_s is None or wanted_s == (present_s or 0.0):
        return None
    if job.trial_s:
        raise BadInput(f"job {job.number} is a trial, which has a limit of its own (trial.limit_s)")
    if job.is_timed_out:
        raise BadInput(
            f"job {job.number} has run for its max_duration and is being stopped; its limit can no "
            "longer be changed"
        )
    is_raised = present_s is not None and (not wanted_s or wanted_s > present_s)
    if is_raised and not given.may_raise_limit:
        raise LimitRaised(
            f"job {job.number} has a max_duration of {written_duration(present_s or 0.0)}; users "
            "may lower that of their jobs, admins may raise or remove it"
        )
    if job.attempt is None and has_used_up(job, now_us, with_limit(job.spec, wanted_s)):
        raise BadInput(
            f"job {job.number} ran {duration_words(job.ran_us(now_us))} and does not run now; with "
            f"max_duration {written_duration(wanted_s)} it could not run again: give more, or "
            f"cancel it (motet cancel {job.number})"
        )
    return wanted_s


def update_or_limit(state: LiveState, now_us: int, given: UpdateJob | QueueRequest) -> Intake:
    """Raises NotFound, BadInput, LimitRaised."""
    if isinstance(given, UpdateJob):
        return _update(state, now_us, given)
    assert state.cluster is not None
    slots = sum(state.cluster.slots) if state.cluster.names else None
    in_use = [name for name, jobs in state.open_jobs.items() if jobs]
    in_use += [job.spec.queue for job in state.active.values()]
    facts, events = change_queues(state.queue_book, slots, in_use, given)
    return Intake(facts, events)


def proposal_intake(job: LiveJob, attempt: Attempt, wish: SizeWish) -> Intake:
    """A proposal within the bounds of the job. Repeated ones are not news.

    An attempt that is being stopped, or has ended, has no say any more: the next one measures the
    job again, and proposes what it finds.
    """
    spec, known = job.spec, job.proposal
    is_over = attempt.phase in (AttemptPhase.STOPPING, AttemptPhase.ENDED) or job.state.is_final
    is_known = known is not None and (known.attempt, known.number) >= (attempt.number, wish.number)
    if is_over or is_known or not (isinstance(spec, TrainingSpec) and spec.proposes_size):
        return Intake()
    least, most = spec.least, spec.most
    workers = min(max(wish.workers, least.workers), most.workers)
    servers = min(max(wish.servers, least.servers), most.servers)
    fact = SizeSuggested(job.number, attempt.number, wish.number, workers, servers, wish.gain)
    return Intake((fact,), (SizeProposed(job.number, workers, servers, wish.gain),))
