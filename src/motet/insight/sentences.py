"""A story in sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from motet.domain.units import SECOND_US
from motet.insight.happening import Happening
from motet.insight.story import Chapter

REASONS = {
    "too_few_gpus": "too few free GPUs",
    "behind_head": "behind the head of the line",
    "behind_locality": "behind a head that waits for GPUs closer together",
    "locality": "GPUs too far apart",
    "quota": "quota used up",
    "order": "kept back by the policy",
    "less_progress": "its loss would fall less",
    "more_left": "it has more left to do",
    "too_few_cpus": "too few free CPUs",
    "too_little_memory": "not enough free memory",
    "share": "behind those with a smaller share",
    "outbid": "outbid in an auction",
    "lease_over": "its lease was over",
    "unknown": "unknown",
}
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_MOST_MACHINES = 6


@dataclass(frozen=True)
class Rules:
    """What is known of the policy's queues: the GPU-seconds at which a job leaves each of them, and
    how many times as long as it ran a job waits until it is promoted.
    """

    thresholds_gpu_s: tuple[float, ...] = ()
    promote_knob: float | None = None


def sentence(chapter: Chapter, rules: Rules) -> str:
    """With its duration: "waited 12 min 40 s: needs 8 GPUs, ..."."""
    text = account(chapter.because, rules)
    if chapter.kind == "moment":
        return text
    verb = "waited" if chapter.kind == "wait" else "ran"
    if chapter.duration_us is None:
        return f"{'waits' if verb == 'waited' else 'runs'} to the end of the simulation: {text}"
    return f"{verb} {duration_words(chapter.duration_us)}: {text}"


def account(each: Happening, rules: Rules) -> str:
    """What happened, or why it waits."""
    tell = _WAITS.get(each.reason) if each.event == "wait" else _EVENTS.get(each.event)
    return tell(each, rules) if tell else f"{each.event} {each.reason}".strip()


def duration_words(duration_us: int) -> str:
    """Its two largest units: "0.25 s", "42 s", "12 min 40 s", "3 h 5 min"."""
    whole_s = round(duration_us / SECOND_US)
    if whole_s < 10:
        return f"{round(duration_us / SECOND_US, 3):g} s"
    sizes = [size for _, size in _UNITS]
    largest = next(place for place, size in enumerate(sizes) if whole_s >= size)
    parts = []
    for name, size in _UNITS[largest : largest + 2]:
        count, whole_s = divmod(whole_s, size)
        parts.append(f"{count} {name}" if count else "")
    return " ".join(filter(None, parts))


def job_name(job: str) -> str:
    """An id that reads like a name: "job 17" for 17."""
    return f"job {job}" if job.isdecimal() else job


# -- waits -----------------------------------------------------------------------------------------


def _too_few(each: Happening, rules: Rules) -> str:
    del rules
    before = f"; before it ran {_others(each)}" if each.others else ""
    return f"needs {_gpus(each.gpus)}, {_free(each)} at its turn{_place(each)}{before}"


def _behind(of_head: str) -> Callable[[Happening, Rules], str]:
    def account(each: Happening, rules: Rules) -> str:
        del rules
        head = each.others[0] if each.others else None
        needs = f"{job_name(head.job)}, which needs {_gpus(head.gpus)}{of_head}" if head else ""
        whom = needs or "the head of the line"
        itself = f"needs {_gpus(each.gpus)} itself, {_free(each)}{_place(each)}"
        return f"may not overtake {whom}; {itself}"

    return account


def _locality(each: Happening, rules: Rules) -> str:
    del rules
    until = ""
    if each.until_us is not None:
        until = f"; after {duration_words(each.until_us - each.time_us)} it takes them anywhere"
    running = f"; running: {_others(each)}" if each.others else ""
    return (
        f"{_free(each)}, but not {_gpus(each.gpus)} on as few machines as it "
        f"insists on{_place(each)}{until}{running}"
    )


def _quota(each: Happening, rules: Rules) -> str:
    del rules
    holders = f": {_others(each)}" if each.others else ""
    return f"its queue used up its quota{holders}; needs {_gpus(each.gpus)}{_place(each)}"


def _order(each: Happening, rules: Rules) -> str:
    del rules
    return f"the policy kept it back: {_free(each)}, it needs {_gpus(each.gpus)}{_again(each)}"


def _outbid(each: Happening, rules: Rules) -> str:
    del rules
    rhos = ""
    if each.measure is not None and each.bar is not None:
        rhos = f": its rho {each.measure:.3g}, lowest winning rho {each.bar:.3g}"
    return f"outbid{rhos}; needs {_gpus(each.gpus)}, {_free(each)}{_again(each)}"


def _lease_over(each: Happening, rules: Rules) -> str:
    del rules
    before = f" ({_others(each)} ran before it)" if each.others else ""
    return (
        "its lease ended early, as payment for what it won, and others have the GPUs until the "
        f"next auction{before}; needs {_gpus(each.gpus)}, {_free(each)}{_again(each)}"
    )


def _less_progress(each: Happening, rules: Rules) -> str:
    del rules
    compared = ""
    if each.measure is not None and each.bar is not None:
        compared = (
            f": {each.measure:.3g}, theirs at least {each.bar:.3g} (in units of the largest change "
            "of a step)"
        )
    return (
        "its loss is predicted to fall less per GPU than those of the jobs that run"
        f"{compared}; {_asks(each)}"
    )


def _more_left(each: Happening, rules: Rules) -> str:
    del rules
    compared = ""
    if each.measure is not None and each.bar is not None:
        own, theirs = (_on_one_gpu(gpu_s) for gpu_s in (each.measure, each.bar))
        compared = f": {own} on one GPU, they at most {theirs}"
    return f"predicted to have more left to do than the jobs that run{compared}; {_asks(each)}"


def _beside(short: str) -> Callable[[Happening, Rules], str]:
    def account(each: Happening, rules: Rules) -> str:
        del rules
        before = f"; before it ran {_others(each)}" if each.others else ""
        free = f"{_free(each)} at its turn, but {short} beside them"
        return f"needs {_gpus(each.gpus)}, {free}{_place(each)}{before}"

    return account


def _share(each: Happening, rules: Rules) -> str:
    del rules
    shares = "others that wait"
    if each.measure is not None and each.bar is not None:
        own = f"dominant share {each.measure:.3g}"
        shares = f"others that wait: {own}, lowest waiting {each.bar:.3g}"
    itself = f"needs {_gpus(each.gpus)} itself, {_free(each)}{_place(each)}"
    return f"its queue holds more than {shares}; {itself}"


# -- other events ----------------------------------------------------------------------------------


def _begun(verb: str) -> Callable[[Happening, Rules], str]:
    def tell(each: Happening, rules: Rules) -> str:
        del rules
        company = f", shared with {job_name(each.others[0].job)}" if each.others else ""
        slow = ""
        if each.left is not None and each.times_as_long is not None:
            slow = f"; away from {each.left}, {each.times_as_long:.3g} times as slow as usual"
        return f"{verb} {_where(each.machines)}{company}{slow}"

    return tell


def _preempted(each: Happening, rules: Rules) -> str:
    del rules
    queue = f" (it is in queue {each.queue})" if each.queue is not None else ""
    gone = f"GPUs went to {_others(each)}" if each.others else "nobody got GPUs at that moment"
    return f"preempted{queue}: lost {_where(each.machines)}; {gone}"


def _demoted(each: Happening, rules: Rules) -> str:
    limits, queue = rules.thresholds_gpu_s, each.queue or 0
    if not 2 <= queue <= len(limits) + 1:
        return f"demoted to queue {queue}"
    limit = f"{limits[queue - 2]:,g} GPU-seconds"
    return f"demoted to queue {queue}: used up the {limit} of queue {queue - 1}"


def _promoted(each: Happening, rules: Rules) -> str:
    knob = rules.promote_knob
    why = "" if knob is None else f": had waited at least {knob:g} times as long as it ran"
    return f"promoted to queue {each.queue}{why}"


def _finished(each: Happening, rules: Rules) -> str:
    del each, rules
    return "finished"


_WAITS: Mapping[str, Callable[[Happening, Rules], str]] = {
    "too_few_gpus": _too_few,
    "behind_head": _behind(""),
    "behind_locality": _behind(" closer together"),
    "locality": _locality,
    "quota": _quota,
    "order": _order,
    "less_progress": _less_progress,
    "more_left": _more_left,
    "too_few_cpus": _beside("not enough CPUs"),
    "too_little_memory": _beside("not enough memory"),
    "share": _share,
    "outbid": _outbid,
    "lease_over": _lease_over,
}
_EVENTS: Mapping[str, Callable[[Happening, Rules], str]] = {
    "start": _begun("started on"),
    "resume": _begun("resumed on"),
    "migrate": _begun("moved to"),
    "resize": _begun("resized to"),
    "preempt": _preempted,
    "demote": _demoted,
    "promote": _promoted,
    "finish": _finished,
}


# -- parts of sentences ----------------------------------------------------------------------------


def _gpus(count: int) -> str:
    return f"{count:,} GPU{'' if count == 1 else 's'}"


def _on_one_gpu(gpu_s: float) -> str:
    return duration_words(round(gpu_s * SECOND_US))


def _asks(each: Happening) -> str:
    """Elastic jobs may run with less."""
    return f"asks for {_gpus(each.gpus)}, {_free(each)}{_place(each)}"


def _free(each: Happening) -> str:
    free = each.free_gpus or 0
    return f"{free:,} {'was' if free == 1 else 'were'} free" if free else "none was free"


def _again(each: Happening) -> str:
    if each.until_us is None:
        return ""
    return f"; it decides again within {duration_words(each.until_us - each.time_us)}"


def _place(each: Happening) -> str:
    return "" if each.place is None else f" (place {each.place:,} in line)"


def _where(machines: Mapping[str, int]) -> str:
    """ "m0 (4 GPUs)", "m0 (4 GPUs) and m3 (2 GPUs)"."""
    named = [f"{name} ({_gpus(count)})" for name, count in machines.items()]
    return _listed(named[:_MOST_MACHINES], len(named))


def _others(each: Happening) -> str:
    named = [f"{job_name(other.job)} ({_gpus(other.gpus)})" for other in each.others]
    return _listed(named, each.others_total)


def _listed(named: Sequence[str], total: int) -> str:
    """ "a, b and 4 more"."""
    if total > len(named):
        return f"{', '.join(named)} and {total - len(named):,} more"
    return " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))
