"""Explanations of the live cluster: the decisions about a job as a story. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from motet.domain.errors import MotetError
from motet.domain.log_entry import is_wait
from motet.domain.units import SECOND_US, duration_words
from motet.domain.wait import WAITS, wait_named
from motet.engine.policy_loading.catalogue import parameters_of
from motet.insight.cluster_wait import ClusterWait
from motet.insight.holders.last_released import with_last_released
from motet.insight.holders.meanwhile import Meanwhile
from motet.insight.job_story import JobStory, RulesInForce, queue_rules
from motet.insight.log_events import story_event
from motet.insight.policy_failure import policy_failure_words
from motet.insight.sentences import Rules
from motet.insight.story import JobRecord, Story
from motet.insight.story_event import StoryEvent
from motet.insight.wording import counted, in_slots, listed
from motet.interfaces.server.stories.held_story import held_events, why_held
from motet.interfaces.server.stories.lost_machines import with_lease_waits
from motet.interfaces.server.stories.outages import with_outages
from motet.interfaces.server.stories.true_ends import with_true_ends
from motet.interfaces.server.stories.wait_words import wait_words
from motet.live.jobs.attempt import AttemptPhase, StopCause
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_spec import TrainingSpec
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import PolicyChosen
from motet.live.master.policy_choice import policy_of
from motet.live.master.state import LiveState
from motet.live.time_limits.time_limit import time_limit_words

NO_PROGRESS = "NoProgress"
"""The reason of a job that runs, and whose processes have written nothing for long."""
TIME_LIMIT = "TimeLimit"
"""The reason of a job that has run for its `max_duration`, and is being stopped."""
MACHINE_LOST = ClusterWait.MACHINE_LOST.value.name
"""The reason of a job that has lost a machine, and whose processes may still run."""
_TOO_FEW_SLOTS = "InsufficientSlots"
_MACHINES_DRAINED = "MachinesDrained"
_GETS_SLOTS = ("start", "resume")
_SHOWN = 5


def explained(state: LiveState, number: int, now_us: int) -> JobStory:
    """The story of a job until now. Raises NotFound, BadInput.

    Sentences speak of GPUs; `in_slots` rewords them.
    """
    job = state.job(number)
    events = _events(state, job)
    record = JobRecord(
        str(number),
        job.user,
        job.spec.queue,
        job.spec.processes,
        job.submitted_us,
        job.ended_us if job.state is JobState.SUCCEEDED else None,
    )
    # A decision may be some milliseconds ahead of the clock.
    until_us = None if job.state.is_final else max(now_us, events[-1].time_us)
    story = Story.of(record, events, until_us)
    between = state.slot_history.between(job.submitted_us, job.ended_us or now_us)
    held = [each for each in between if each.job != record.job]
    later = {each.job for each in held if int(each.job) > number}
    meanwhile = Meanwhile.of(story, held, later)
    told = with_last_released(story, held)
    return JobStory(state.policy.policy, rules_in_force(state), told, meanwhile)


def _events(state: LiveState, job: LiveJob) -> list[StoryEvent]:
    """What was decided about a job, after the time in which it was held."""
    decided = [
        _with_guarantee(state, job, event)
        for event in (
            story_event(entry, str, _machines(state)) for entry in state.history.of(job.number)
        )
    ]
    if (latest := state.history.wait_of(job.number)) is not None:
        now = story_event(latest, str, _machines(state))
        decided[-1] = _with_latest_place(decided[-1], now)
    decided = [*with_lease_waits(with_true_ends(decided, job), job.attempts)]
    if job.trial_s and job.state is JobState.SUCCEEDED and decided[-1].event == "cancel":
        told = f"ran for {duration_words(round(job.trial_s * SECOND_US))} without an error"
        decided[-1] = replace(decided[-1], event="finish", told=told)
    if job.is_timed_out:
        told = _limit_words(job)
        decided = [replace(it, told=told) if it.event == "time_out" else it for it in decided]
    events = [*held_events(state, job), *with_outages(decided, state.outages)]
    return events or [StoryEvent(job.submitted_us, "wait", job.spec.processes)]


def _with_latest_place(wait: StoryEvent, latest: StoryEvent) -> StoryEvent:
    """A wait since it began, with its present place and the jobs that it waits for now."""
    return replace(
        latest,
        time_us=wait.time_us,
        place=wait.place,
        last_place=latest.place,
        until_us=wait.until_us,
    )


def _with_guarantee(state: LiveState, job: LiveJob, event: StoryEvent) -> StoryEvent:
    """The event; of a preemption for jobs of another queue, with what is guaranteed to that."""
    if event.event != "preempt":
        return event
    present, own = state.queue_book.present, job.queue_at(event.time_us)
    others = [state.jobs[int(other.job)] for other in event.others]
    queues = dict.fromkeys(other.queue_at(event.time_us) for other in others)
    guarantees = {name: present[name].limits.guarantee for name in queues if name in present}
    told = [
        f"queue {name} is guaranteed {counted(count, 'GPU')}"
        for name, count in guarantees.items()
        if count and name != own
    ]
    return replace(event, told=told[0]) if told else event


def why_waiting(state: LiveState, job: LiveJob, *, is_latest: bool = False) -> tuple[str, str]:
    """The name of the reason for which a job waits, and its sentence; empty: it does not wait.

    `is_latest`: with the place and the other jobs of the latest decision, which takes longer, not
    with those of the time at which the reason was new.
    """
    if job.is_held and not job.is_suspended:
        return why_held(state, job)
    entries = state.history.of(job.number)
    if state.refusal and job.attempt is None and not (job.is_suspended or job.state.is_final):
        words = ClusterWait.CLUSTER_UNREACHABLE.value
        return words.name, words.sentence.format(refusal=state.refusal)
    if job.is_suspended or job.state.is_final:
        return "", ""
    if entries and entries[-1].event in _GETS_SLOTS and job.attempt is None:
        return _slots_being_freed(state)
    if state.policy_failure and job.attempt is None:
        words = ClusterWait.POLICY_FAILED.value
        failure = policy_failure_words(state.policy_failure)
        return words.name, words.sentence.format(failure=failure)
    if not entries:
        return "", ""
    if not is_wait(entries[-1]):
        return "", ""
    latest = state.history.wait_of(job.number) if is_latest else None
    reason = wait_named(entries[-1].event).reason
    return _slots_name(reason.name), wait_words(state, latest or entries[-1])


def advice(state: LiveState, reason: str, job: LiveJob) -> str:
    """What the user of a job could do that waits for this reason, or has this warning; empty:
    nothing is known."""
    least = _smallest(state, job)
    if reason == _TOO_FEW_SLOTS and least:
        return f"nothing to do: it needs {least}, and starts when that is free at its turn"
    if reason == NO_PROGRESS:
        return f"see what it does: motet logs {job.number}; motet cancel {job.number} if it hangs"
    for words in (*(wait.reason for wait in WAITS), *(wait.value for wait in ClusterWait)):
        if _slots_name(words.name) == reason:
            told = in_slots(words.advice.format(job=job.number))
            may_shrink = reason == _MACHINES_DRAINED and not least
            return f"{told}; or ask for fewer slots" if may_shrink else told
    return ""


def _smallest(state: LiveState, job: LiveJob) -> str:
    """What a job needs that cannot ask for less; empty: it can. Under a policy that resizes no jobs
    one with bounds asks for the most that it may have."""
    spec = job.spec
    if spec.is_elastic and _keeps_requests(state.policy):
        return ""
    if spec.is_by_machine:
        return "one machine alone" if isinstance(spec, TrainingSpec) and _is_least(spec) else ""
    if isinstance(spec, TrainingSpec):
        return "two slots, for a worker and a server," if _is_least(spec) else ""
    return "one slot alone" if spec.least_processes == 1 else ""


def _keeps_requests(chosen: PolicyChosen) -> bool:
    """Whether a policy resizes no jobs; of one whose file is gone or broken that is not known."""
    try:
        return policy_of(chosen.policy, chosen.settings).keeps_requests
    except MotetError:
        return False


def _is_least(spec: TrainingSpec) -> bool:
    return (spec.least.workers, spec.least.servers) == (1, 1)


def idle_warning(job: LiveJob) -> tuple[str, str]:
    """The name and the sentence of a warning about a job that runs; empty: none."""
    if job.idle_since_us is None:
        return "", ""
    moment = datetime.fromtimestamp(job.idle_since_us // 1_000_000, UTC)
    return NO_PROGRESS, (
        f"it holds slots, but has written nothing to logs or checkpoints since {moment:%F %T} UTC"
    )


def loss_warning(state: LiveState, job: LiveJob) -> tuple[str, str]:
    """The name and the sentence of a job that has lost a machine, while its processes may still
    run; empty: none."""
    attempt = job.attempt
    if attempt is None or job.is_suspended or job.state.is_final:
        return "", ""
    if attempt.stop_cause is not StopCause.MACHINE_LOST:
        return "", ""
    lost = ", ".join(state.lost_machines(attempt)) or "a machine"
    return MACHINE_LOST, (
        f"it has lost {lost}: it gets slots again when its processes have certainly ended"
    )


def limit_warning(job: LiveJob) -> tuple[str, str]:
    """The name and the sentence of a job that is being stopped at its limit; empty: it is not."""
    if not job.is_timed_out or job.state.is_final:
        return "", ""
    return TIME_LIMIT, f"it is being stopped: {_limit_words(job)}"


def _limit_words(job: LiveJob) -> str:
    """As it was when the stop was requested."""
    last = job.attempts[-1]
    return time_limit_words(job, last.stopping_us or last.requested_us)


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
    words = ClusterWait.SLOTS_BEING_FREED.value
    return words.name, words.sentence.format(leaving=f"{leaving} {have}")


def _slots_name(reason: str) -> str:
    """`InsufficientSlots` for `InsufficientGpus`: machines of the live cluster offer slots."""
    return reason.replace("Gpus", "Slots")


def _machines(state: LiveState) -> tuple[str, ...]:
    assert state.cluster is not None
    return state.cluster.names


def rules_in_force(state: LiveState) -> RulesInForce:
    """Of the queues of the policies, when each was in force."""
    *earlier, last = [_rules_of(chosen) for _, chosen in state.policies] or [Rules()]
    ends_us = (at_us for at_us, _ in state.policies[1:])
    return RulesInForce(last, tuple(zip(ends_us, earlier, strict=True)))


def _rules_of(chosen: PolicyChosen) -> Rules:
    """Of a policy whose file is gone or broken: none are known."""
    try:
        policy = policy_of(chosen.policy, chosen.settings)
    except MotetError:
        return Rules()
    names = [each.name for each in parameters_of(type(policy))]
    return queue_rules({name: getattr(policy, name) for name in names})
