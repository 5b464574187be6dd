"""Explanations of the live cluster: the decisions about a job as a story. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from motet.domain.log_entry import is_wait
from motet.domain.wait import wait_named
from motet.insight.job_story import JobStory, queue_rules
from motet.insight.log_events import story_event
from motet.insight.meanwhile import HeldGpus, Meanwhile
from motet.insight.policy_failure import policy_failure_words
from motet.insight.sentences import Rules
from motet.insight.story import JobRecord, Story
from motet.insight.waits import wait_sentence
from motet.insight.wording import in_slots, listed
from motet.live.jobs.attempt import AttemptPhase
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.policy_choice import parameters_in_force
from motet.live.master.state import LiveState

CLUSTER_UNREACHABLE = "ClusterUnreachable"
"""The reason of all waits while a joined cluster is out of reach."""
POLICY_FAILED = "PolicyFailed"
"""The reason of all waits while the policy in force decides no more."""
DEPENDENCY = "Dependency"
"""The reason of a job that waits for others to succeed."""
ARRAY_LIMIT = "ArrayLimit"
"""The reason of a job whose array has as many unfinished jobs as it may have."""
SLOTS_BEING_FREED = "SlotsBeingFreed"
"""The reason of a job whose slots other jobs have not left yet."""
NO_PROGRESS = "NoProgress"
"""The reason of a job that runs, and whose processes have written nothing for long."""
_GETS_SLOTS = ("start", "resume")
_SHOWN = 5


def explained(state: LiveState, number: int, now_us: int) -> JobStory:
    """The story of a job until now. Raises NotFound, BadInput.

    Sentences speak of GPUs; `in_slots` rewords them.
    """
    job = state.job(number)
    events = [story_event(entry, str, _machines(state)) for entry in state.history.of(number)]
    record = JobRecord(
        str(number),
        job.user,
        job.spec.queue,
        job.spec.processes,
        job.submitted_us,
        job.ended_us if job.state is JobState.SUCCEEDED else None,
    )
    until_us = None if job.state.is_final else now_us
    story = Story.of(record, events, until_us)
    held = list(_holdings_of_others(state, job, job.ended_us or now_us))
    later = {each.job for each in held if int(each.job) > number}
    meanwhile = Meanwhile.of(story, held, later)
    return JobStory(state.policy.policy, rules_of(state), story, meanwhile)


def why_waiting(state: LiveState, job: LiveJob) -> tuple[str, str]:
    """The name of the reason for which a job waits, and its sentence; empty: it does not wait."""
    if job.is_held and not job.is_suspended:
        return _held_reason(state, job)
    entries = state.history.of(job.number)
    if state.refusal and job.attempt is None and not (job.is_suspended or job.state.is_final):
        return CLUSTER_UNREACHABLE, f"the cluster cannot be reached: {state.refusal}"
    if job.is_suspended or job.state.is_final:
        return "", ""
    if entries and entries[-1].event in _GETS_SLOTS and job.attempt is None:
        return _slots_being_freed(state)
    if state.policy_failure and job.attempt is None:
        return POLICY_FAILED, policy_failure_words(state.policy_failure)
    if not entries:
        return "", ""
    if not is_wait(entries[-1]):
        return "", ""
    sentence = wait_sentence(story_event(entries[-1], str, _machines(state)))
    return _slots_name(wait_named(entries[-1].event).reason.name), in_slots(sentence)


def idle_warning(job: LiveJob) -> tuple[str, str]:
    """The name and the sentence of a warning about a job that runs; empty: none."""
    if job.idle_since_us is None:
        return "", ""
    moment = datetime.fromtimestamp(job.idle_since_us // 1_000_000, UTC)
    return NO_PROGRESS, (
        f"it holds slots, but has written nothing to logs or checkpoints since {moment:%F %T} UTC"
    )


def _slots_being_freed(state: LiveState) -> tuple[str, str]:
    """Empty: no job is being stopped, so the job is about to start."""
    stopping = [
        f"job {job.number}"
        for job in state.active.values()
        if job.attempts[-1].phase is AttemptPhase.STOPPING
    ]
    if not stopping:
        return "", ""
    leaving = listed(stopping[:_SHOWN], len(stopping))
    have = "has" if len(stopping) == 1 else "have"
    return SLOTS_BEING_FREED, f"slots are assigned to it; it waits until {leaving} {have} stopped"


def _slots_name(reason: str) -> str:
    """`InsufficientSlots` for `InsufficientGpus`: machines of the live cluster offer slots."""
    return reason.replace("Gpus", "Slots")


def _held_reason(state: LiveState, job: LiveJob) -> tuple[str, str]:
    if waits_for := state.held.waits_for(job):
        return DEPENDENCY, _dependency_sentence(waits_for)
    assert job.array is not None
    return ARRAY_LIMIT, f"waits until fewer than {job.array.most_open} jobs of its array are open"


def _dependency_sentence(jobs: Sequence[int]) -> str:
    if len(jobs) == 1:
        return f"waits until job {jobs[0]} has succeeded"
    more = f" and {len(jobs) - _SHOWN} others" if len(jobs) > _SHOWN else ""
    return f"waits until jobs {', '.join(map(str, jobs[:_SHOWN]))}{more} have succeeded"


def _machines(state: LiveState) -> tuple[str, ...]:
    assert state.cluster is not None
    return state.cluster.names


def _holdings_of_others(state: LiveState, job: LiveJob, to_us: int) -> Iterator[HeldGpus]:
    """Slots that attempts of other jobs held after the submission of this one."""
    for other in state.jobs.values():
        if other is job:
            continue
        for attempt in other.attempts:
            begin_us, end_us = attempt.requested_us, attempt.ended_us
            if begin_us < to_us and (end_us is None or end_us > job.submitted_us):
                slots = sum(attempt.placement.counts)
                yield HeldGpus(str(other.number), slots, begin_us, end_us)


def rules_of(state: LiveState) -> Rules:
    """Of the queues of the policy in force."""
    return queue_rules(parameters_in_force(state))
