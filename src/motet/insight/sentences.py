"""Sentences for the chapters of a story."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from motet.domain.decision import refusal_named
from motet.domain.log_entry import MEASURE
from motet.domain.units import SECOND_US, duration_words
from motet.insight.cluster_wait import reason_words
from motet.insight.story import UNKNOWN_REASON, Chapter
from motet.insight.story_event import StoryEvent
from motet.insight.waits import wait_sentence
from motet.insight.wording import change_of_team, gpus, job_name, jobs, listed, team, where


@dataclass(frozen=True)
class Rules:
    """Settings of the policy's queues: the GPU-seconds at which a job leaves each queue, and the
    ratio of waiting to running time at which a job is promoted.
    """

    thresholds_gpu_s: tuple[float, ...] = ()
    promote_knob: float | None = None


def sentence(chapter: Chapter, rules: Rules, until_us: int | None = None) -> str:
    """The sentence of a chapter with its duration: "waited 12 min 40 s: needs 8 GPUs, ...".

    `until_us`: see `Story`; then "has waited 12 min 40 s: ..." of a chapter without an end.
    """
    text = account(chapter.because, rules)
    if chapter.kind == "moment":
        return text
    verb = "waited" if chapter.kind == "wait" else "ran"
    if chapter.duration_us is None and until_us is not None:
        participle = "waited" if chapter.kind == "wait" else "run"
        return f"has {participle} {duration_words(until_us - chapter.from_us)}: {text}"
    if chapter.duration_us is None:
        return f"{'waits' if verb == 'waited' else 'runs'} to the end of the simulation: {text}"
    return f"{verb} {duration_words(chapter.duration_us)}: {text}"


def account(each: StoryEvent, rules: Rules) -> str:
    """The event, or the reason for a wait. Raises ValueError for an unknown reason."""
    if each.event != "wait":
        return f"{_EVENTS[each.event](each, rules)}{_released(each)}"
    if not each.reason:
        return "no decision about it is recorded"
    return f"{wait_sentence(each)}{_released(each)}"


def _released(each: StoryEvent) -> str:
    """Where the last GPUs came from before a wait ended; empty: it is not known."""
    last = each.released
    if last is None:
        return ""
    gap = f", {duration_words(last.before_us)} earlier" if last.before_us >= SECOND_US else ""
    return f"; the last GPUs before its start came from {jobs(last.jobs, last.total)}{gap}"


def reason_title(key: str) -> str:
    """Short title of a wait reason, as in `Story.waiting_us`."""
    return UNKNOWN_REASON if key == UNKNOWN_REASON else reason_words(key).title


def _begun(verb: str) -> Callable[[StoryEvent, Rules], str]:
    def describe(each: StoryEvent, rules: Rules) -> str:
        del rules
        with_team = f" with {team(each.team)}" if each.team else ""
        return f"{verb}{with_team} on {_there(each)}"

    return describe


def _moved(each: StoryEvent, rules: Rules) -> str:
    del rules
    return f"started again on {_there(each)}" if each.stays else f"moved to {_there(each)}"


def _resized(each: StoryEvent, rules: Rules) -> str:
    del rules
    if each.team is None or each.team_before is None:
        return f"resized to {_there(each)}"
    change = change_of_team(each.team_before, each.team)
    return f"resized from {change}, on {_there(each)}{_exchanged(each)}"


def _there(each: StoryEvent) -> str:
    """Present machines, jobs that share them, and the slow machine that was left."""
    names = [job_name(other.job) for other in each.others]
    company = f", shared with {listed(names, each.others_total)}" if names else ""
    slow = ""
    if each.left is not None and each.times_as_long is not None:
        slow = f"; away from {each.left}, {each.times_as_long:.3g} times as slow as usual"
    return f"{where(each.machines)}{company}{_gain(each)}{slow}"


def _gain(each: StoryEvent) -> str:
    """What the model expects of the jobs on the same machines, asynchronous training, and the input
    on disk."""
    told = ""
    if each.forecast is not None:
        iteration_s, in_turn_s, cpu, network, count = each.forecast
        if count == 1:
            whose = "the only measured job"
        else:
            whose = "each" if count > each.others_total else f"each of the {count} measured jobs"
        turns = (
            f", one after the other in {_seconds(in_turn_s)} ({in_turn_s / iteration_s:.2f}x)"
            if count > 1
            else ""
        )
        told = (
            f"; predicted: an iteration of {whose} in {_seconds(iteration_s)}{turns}; CPU in use "
            f"{100 * cpu:.0f} %, network {100 * network:.0f} % of the time"
        )
    if each.asynchronous:
        told += "; asynchronous: its COMM runs beside its COMP, since too few others fill the gaps"
    elif each.stays:
        told += "; not asynchronous any more, since others fill the gaps"
    return f"{told}; {100 * each.on_disk:.0f} % of its input on disk" if each.on_disk else told


def _measured(each: StoryEvent, rules: Rules) -> str:
    """What sharing has gained, and which of the figures were not measured."""
    del rules
    if each.measured is None:
        return "measured"
    took, names = each.measured, [job_name(other.job) for other in each.others]
    how = "measured" if took.is_alone_measured else "predicted by its measured COMP and COMM"
    used = (("CPU", took.cpu, took.own_cpu), ("network", took.network, took.own_network))
    uses = ", ".join(
        f"{name} in use {100 * together:.0f} % of the time (by this job alone {100 * own:.0f} %)"
        for name, together, own in used
    )
    whose = "the jobs" if took.jobs > each.others_total else f"the {took.jobs} measured jobs"
    whose = "this job, the only one measured," if took.jobs == 1 else whose
    return (
        f"measured beside {listed(names, each.others_total)}: an iteration took "
        f"{_seconds(took.iteration_s)}, alone {_seconds(took.alone_s)} ({how}); {whose} did "
        f"{took.work:.2f} times the work of one at a time; {uses}"
    )


def _seconds(time_s: float) -> str:
    """Iterations may take microseconds."""
    if time_s < 1:
        return f"{time_s:.3g} s"
    return duration_words(round(time_s * SECOND_US))


def _exchanged(each: StoryEvent) -> str:
    """How many GPUs more or fewer, and what other jobs got or gave up in the same decision.

    Their numbers add up to more than its own where several jobs are resized at once.
    """
    if each.team is None or each.team_before is None:
        return ""
    more = each.team.gpus - each.team_before.gpus
    if not more:
        return ""
    told = f"; {gpus(abs(more))} {'more' if more > 0 else 'fewer'}"
    if not each.exchange:
        return told
    verb = "gave up GPUs" if more > 0 else "got more"
    return f"{told}; at that time {verb}: {jobs(each.exchange, each.exchange_total)}"


def _preempted(each: StoryEvent, rules: Rules) -> str:
    del rules
    queue = f" (it is in queue {each.queue})" if each.queue is not None else ""
    queue = queue or (f" ({each.told})" if each.told else "")
    others = jobs(each.others, each.others_total)
    gone = f"GPUs went to {others}" if each.others else "no job got GPUs at that moment"
    return f"preempted{queue}: lost {where(each.machines)}; {gone}"


def _demoted(each: StoryEvent, rules: Rules) -> str:
    limits, queue = rules.thresholds_gpu_s, each.queue or 0
    if not 2 <= queue <= len(limits) + 1:
        return f"demoted to queue {queue}"
    limit = f"{limits[queue - 2]:,g} GPU-seconds"
    return f"demoted to queue {queue}: used up the {limit} of queue {queue - 1}"


def _promoted(each: StoryEvent, rules: Rules) -> str:
    knob = rules.promote_knob
    why = "" if knob is None else f": had waited at least {knob:g} times as long as it ran"
    return f"promoted to queue {each.queue}{why}"


def _evicted(each: StoryEvent, rules: Rules) -> str:
    del rules
    return f"lost {where(each.machines)}: a machine left the cluster"


def _cancelled(each: StoryEvent, rules: Rules) -> str:
    del rules
    return f"cancelled: {each.told}" if each.told else "cancelled by its user"


def _timed_out(each: StoryEvent, rules: Rules) -> str:
    del rules
    return f"stopped: {each.told}" if each.told else "stopped at its limit of running time"


def _failed(each: StoryEvent, rules: Rules) -> str:
    del rules
    return f"failed: {each.told}" if each.told else "failed"


def _finished(each: StoryEvent, rules: Rules) -> str:
    del rules
    return f"finished: {each.told}" if each.told else "finished"


def _proposed(each: StoryEvent, rules: Rules) -> str:
    del rules
    proposed = "another size" if each.team is None else team(each.team)
    return f"Cruise proposed {proposed}: {gain_words(each.gain or 0.0)}"


def gain_words(gain: float) -> str:
    """Of a proposed size, what an epoch would take."""
    change = f"{abs(100 * gain):.0f} %"
    if change == "0 %":
        return "epochs would take as long"
    return f"epochs would take {change} {'less' if gain > 0 else 'more'}"


def _kept(each: StoryEvent, rules: Rules) -> str:
    del rules
    return f"runs with {gpus(each.gpus)}, not with what it proposed: {refusal_words(each.refusal)}"


def refusal_words(key: str) -> str:
    """Why a job does not get what it proposed. Raises KeyError."""
    return refusal_named(key).value


def _constant(text: str) -> Callable[[StoryEvent, Rules], str]:
    def describe(each: StoryEvent, rules: Rules) -> str:
        del each, rules
        return text

    return describe


_EVENTS: Mapping[str, Callable[[StoryEvent, Rules], str]] = {
    "start": _begun("started"),
    "resume": _begun("resumed"),
    "migrate": _moved,
    "resize": _resized,
    "preempt": _preempted,
    "demote": _demoted,
    "promote": _promoted,
    "evict": _evicted,
    "suspend": _constant("suspended by its user"),
    "unsuspend": _constant("no longer suspended"),
    "propose": _proposed,
    "keep": _kept,
    MEASURE: _measured,
    "finish": _finished,
    "cancel": _cancelled,
    "time_out": _timed_out,
    "fail": _failed,
}
