"""Requests of users and reports of the launcher, checked and turned into facts and events. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from motet.domain.errors import BadInput
from motet.domain.events import (
    Cancelled,
    Delayed,
    Event,
    Failed,
    Finished,
    ProgressMeasured,
    Resumed,
    SpeedMeasured,
    StartFailed,
    Stopped,
    SubtasksMeasured,
    Suspended,
    TimedOut,
)
from motet.domain.model_profile import ModelMeasured
from motet.domain.units import microseconds
from motet.live.jobs.attempt import (
    MOVES,
    Attempt,
    AttemptOutcome,
    StopCause,
    outcome_of,
)
from motet.live.jobs.failure_class import FailureClass
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.jobs.retry import delay_s, verdict
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptProposed,
    AttemptResized,
    AttemptRunning,
    ClusterSeen,
    Report,
)
from motet.live.master.cluster_changes import (
    BeginDrain,
    DrainMachine,
    ResumeMachine,
    cluster_seen,
    drain_after_failures,
    drain_or_resume,
)
from motet.live.master.facts import (
    AttemptIdle,
    AttemptOver,
    JobChanged,
    JobProgressed,
    MemoryBorrowed,
    ModelSeen,
    TimeLimitReached,
    Verb,
)
from motet.live.master.intake_result import Intake, one_intake
from motet.live.master.job_updates import UpdateJob, proposal_intake, update_or_limit
from motet.live.master.machine_drains import failing_machine
from motet.live.master.policy_choice import choose_policy
from motet.live.master.reports.gang_reports import attempt_of, gang_intake
from motet.live.master.state import LiveState
from motet.live.master.submissions.submission import (
    Submit,
    SubmitArray,
    submission_intake,
)
from motet.live.queues.queue_changes import (
    CreateQueue,
    DefineQueues,
    DeleteQueue,
    LimitQueue,
    QueueRequest,
    SetQueueMode,
)
from motet.live.time_limits.time_limit import EndAtLimit, has_used_up, time_limit_words
from motet.live.trials.trial_spec import EndTrial


@dataclass(frozen=True, slots=True)
class Change:
    """A user cancels, suspends or resumes a job."""

    job: int
    verb: Verb
    user: str


@dataclass(frozen=True, slots=True)
class ChoosePolicy:
    """Another policy, or other parameters. `user`: who wants it; empty: the server's options."""

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


Input: TypeAlias = (
    Submit
    | SubmitArray
    | Change
    | UpdateJob
    | QueueRequest
    | ChoosePolicy
    | DrainMachine
    | BeginDrain
    | EndTrial
    | EndAtLimit
    | ResumeMachine
    | AttemptIdle
    | ModelSeen
    | MemoryBorrowed
    | Report
)


def intake(state: LiveState, now_us: int, given: Input) -> Intake:
    """Check an input against the state. Raises BadInput, NotFound for an input of a user."""
    match given:
        case Submit() | SubmitArray() | EndTrial():
            return submission_intake(state, now_us, given)
        case Change() | EndAtLimit():
            return _change_or_end(state, given)
        case ChoosePolicy(policy, settings, user):
            return choose_policy(state, policy, settings, user)
        case DrainMachine() | BeginDrain() | ResumeMachine():
            return drain_or_resume(state, now_us, given)
        case (
            UpdateJob()
            | CreateQueue()
            | DefineQueues()
            | LimitQueue()
            | SetQueueMode()
            | DeleteQueue()
        ):
            return update_or_limit(state, now_us, given)
        case AttemptRunning() | AttemptResized():
            return gang_intake(state, now_us, given)
        case (
            AttemptProgressed() | AttemptProposed() | AttemptIdle() | ModelSeen() | MemoryBorrowed()
        ):
            return _heard(state, given)
        case AttemptEnded():
            return _ended(state, now_us, given)
        case ClusterSeen():
            return cluster_seen(state, given)


# -- users -----------------------------------------------------------------------------------------


def _change_or_end(state: LiveState, given: Change | EndAtLimit) -> Intake:
    if isinstance(given, EndAtLimit):
        return Intake((TimeLimitReached(given.job),), (TimedOut(given.job),))
    return _change(state, given)


def _change(state: LiveState, given: Change) -> Intake:
    """A job, or those of an array that have not ended. Trials are cancelled with their jobs."""
    trials = state.trials.of(state.jobs_of(given.job)) if given.verb == "cancel" else []
    if given.job not in state.arrays:
        trials = trials if state.job(given.job).array is None else []
        return one_intake([_change_job(job, given) for job in (state.job(given.job), *trials)])
    jobs = [job for job in state.jobs_of(given.job) if not job.state.is_final]
    if not jobs and given.verb != "cancel":
        raise BadInput(f"all jobs of {given.job} have ended; they cannot be {_PAST[given.verb]}")
    return one_intake([_change_job(job, given) for job in (*jobs, *trials)])


def _change_job(job: LiveJob, given: Change) -> Intake:
    if not _has_effect(job, given.verb):
        return Intake(reply=job.state)
    if job.state.is_final:
        raise BadInput(f"job {job.number} is {job.state}; it can no longer be {_PAST[given.verb]}")
    if job.is_timed_out and given.verb != "cancel":
        raise BadInput(
            f"job {job.number} has reached its max_duration and is being stopped; it can no longer "
            f"be {_PAST[given.verb]}"
        )
    changed = JobChanged(job.number, given.verb, given.user)
    is_unknown = job.is_held or job.is_timed_out  # To the engine.
    events = () if is_unknown else (_EVENTS[given.verb](job.number),)
    return Intake((changed,), events)


_EVENTS: Mapping[Verb, type[Cancelled | Suspended | Resumed]] = {
    "cancel": Cancelled,
    "suspend": Suspended,
    "resume": Resumed,
}
_PAST = {"cancel": "cancelled", "suspend": "suspended", "resume": "resumed"}


def _has_effect(job: LiveJob, verb: Verb) -> bool:
    """Whether the verb changes the job, or must be refused."""
    match verb:
        case "cancel":
            return job.state is not JobState.CANCELLED
        case "suspend":
            return job.state.is_final or not job.is_suspended
        case "resume":
            return job.state.is_final or job.is_suspended
        case _:
            assert_never(verb)


# -- the launcher ----------------------------------------------------------------------------------


def _heard(
    state: LiveState,
    seen: AttemptProgressed | AttemptProposed | AttemptIdle | ModelSeen | MemoryBorrowed,
) -> Intake:
    """What the processes of an attempt have written, told the Aggregators, or borrowed."""
    match seen:
        case ModelSeen():
            return _model_seen(state, seen)
        case MemoryBorrowed():
            return _borrowed(state, seen)
        case AttemptIdle():
            return _idle(state, seen)
        case AttemptProgressed():
            return _progressed(state, seen)
        case AttemptProposed(attempt, wish):
            job, number = attempt_of(state, attempt)
            return proposal_intake(job, job.attempts[number - 1], wish)


def _model_seen(state: LiveState, seen: ModelSeen) -> Intake:
    job, sizes = state.job(seen.job), (seen.model_bytes, seen.largest_bytes)
    if job.model == sizes or job.state.is_final or job.is_timed_out:
        return Intake()
    return Intake((seen,), (ModelMeasured(job.number, *sizes),))


def _borrowed(state: LiveState, seen: MemoryBorrowed) -> Intake:
    """An attempt may have ended before its lenders were asked for the last time."""
    known = state.job(seen.job).attempts[seen.attempt - 1].borrowed_byte_s
    return Intake() if known.items() >= seen.byte_s.items() else Intake((seen,))


def _idle(state: LiveState, seen: AttemptIdle) -> Intake:
    """What has ended meanwhile, or is known, is not news."""
    attempt = state.job(seen.job).attempts[seen.attempt - 1]
    is_news = (attempt.idle_since_us is None) != (seen.since_us is None)
    return Intake((seen,)) if is_news and not attempt.has_ended else Intake()


def _progressed(state: LiveState, report: AttemptProgressed) -> Intake:
    """After a restart of launcher or job, reports are repeated; steps that are known are not news.

    A job that lost some epochs with its last process is as far as its best attempt was.
    """
    job, number = attempt_of(state, report.attempt)
    attempt = job.attempts[number - 1]
    known = 0.0 if job.progress is None else job.progress.steps_done
    points = _new_points(report, known)
    if attempt.has_ended or job.state.is_final or report.steps_done <= known:
        return Intake()
    fact = JobProgressed(job.number, report.steps_done, points[-1][1] if points else None)
    events: list[Event] = [ProgressMeasured(job.number, report.steps_done, points)]
    if report.steps_per_s:
        roles = attempt.workers, attempt.servers
        events.append(SpeedMeasured(job.number, *roles, report.steps_per_s))
    if report.subtasks is not None and report.subtasks.comp_s > 0:
        took = report.subtasks
        times = took.comp_s, took.comm_s, took.iteration_s or None
        memory = took.memory_bytes, took.least_memory_bytes
        outside_s = took.outside_s or None if _has_one_cpu(state, attempt) else None
        times_and_memory = *times, *memory, outside_s, took.overlaps or None
        events.append(SubtasksMeasured(job.number, took.machine_count, *times_and_memory))
    return Intake((fact,), tuple(events))


def _new_points(report: AttemptProgressed, known: float) -> tuple[tuple[float, float], ...]:
    """Those after the known steps, in their order. Epochs that a recovery repeats are reported
    twice, and the last ones of before are ahead of `steps_done`: they come again."""
    found, last = list[tuple[float, float]](), known
    for step, loss in report.points:
        if last < step <= report.steps_done:
            found.append((step, loss))
            last = step
    return tuple(found)


def _has_one_cpu(state: LiveState, attempt: Attempt) -> bool:
    """Whether the machines of an attempt have no core beside that of COMP."""
    assert state.cluster is not None
    return all(state.cluster.cpus_of(each) == 1 for each in attempt.placement.machines)


def _ended(state: LiveState, now_us: int, report: AttemptEnded) -> Intake:
    job, number = attempt_of(state, report.attempt)
    attempt = job.attempts[number - 1]
    if attempt.has_ended:
        return Intake()
    until_us = attempt.last_end_us(report.exits, now_us)
    outcome, end, reason, failure = _judged(state, until_us, job, report)
    told = end, reason, failure, report.saved_us
    fact = AttemptOver(job.number, number, outcome, report.exits, *told)
    events = _events_of_end(job, number, end, reason, until_us)
    if failure and end is None and job.end is None:
        delay_us = microseconds(delay_s(job, failure, until_us))
        events += (Delayed(job.number, now_us + delay_us),) if delay_us else ()
    drain = Intake()
    machines = state.machines_of(attempt)
    if (failed_on := failing_machine(failure, report.exits, machines)) is not None:
        drain = drain_after_failures(state, failed_on, f"job {job.number}: {reason}")
    return Intake((fact, *drain.facts), (*events, *drain.events))


def _judged(
    state: LiveState, until_us: int, job: LiveJob, report: AttemptEnded
) -> tuple[AttemptOutcome, JobState | None, str, str]:
    """How the attempt counts, how the job ends with it (None: it goes on, or has ended before), a
    reason and the class of a failure. `until_us`: the end of its last process."""
    attempt = job.attempts[-1]
    loses_killed = job.spec.loses_killed_processes
    outcome = outcome_of(report.exits, attempt.stop_cause, loses_killed=loses_killed)
    end, reason, failure = None, "", ""
    if outcome is AttemptOutcome.SUCCEEDED:
        end = JobState.SUCCEEDED
    elif outcome in (AttemptOutcome.FAILED, AttemptOutcome.LOST):
        found = verdict(job, attempt, outcome, report.exits, report.log_tail)
        outcome, failure = found.outcome, found.failure.key
        reason = _lost_machine(state, attempt) or found.reason
        end = JobState.FAILED if found.is_end else None
    if job.end is not None:
        return outcome, None, reason, failure
    if end is None and (job.is_timed_out or has_used_up(job, until_us)):
        reason = "; ".join(filter(None, (reason, time_limit_words(job, until_us))))
        return outcome, JobState.FAILED, reason, failure or FailureClass.TIME_LIMIT.key
    return outcome, end, reason, failure


def _lost_machine(state: LiveState, attempt: Attempt) -> str:
    """The reason why an attempt was stopped that lost a machine; empty: it did not."""
    if attempt.stop_cause is not StopCause.MACHINE_LOST:
        return ""
    return f"lost {', '.join(state.lost_machines(attempt)) or 'a machine'}"


def _events_of_end(
    job: LiveJob, number: int, end: JobState | None, reason: str, until_us: int
) -> tuple[Event, ...]:
    attempt = job.attempts[number - 1]
    if job.is_timed_out:
        return (Stopped(job.number),)  # It has left the engine already.
    if end is JobState.SUCCEEDED:
        return (Finished(job.number, until_us=until_us),)
    if end is JobState.FAILED:
        return (Failed(job.number, reason),)
    if attempt.stop_cause in MOVES and job.end is None:
        return ()  # The next attempt begins on the new slots.
    if attempt.stop_cause is None and attempt.running_us is None:
        return (StartFailed(job.number, reason),)
    return (Stopped(job.number, until_us),)
