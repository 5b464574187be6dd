"""Sentences for wait reasons: the templates of `motet.domain.wait` and of
`motet.insight.cluster_wait` with their fields filled in.

Every field is a function of the event; most are empty without data in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from motet.domain.units import SECOND_US, duration_words
from motet.insight.cluster_wait import reason_words
from motet.insight.story_event import StoryEvent
from motet.insight.wording import (
    asked,
    free,
    gpus,
    is_as_much,
    job_name,
    jobs,
    listed,
    place_in_line,
    told_apart,
)


def wait_sentence(each: StoryEvent) -> str:
    """Raises ValueError for a reason that is not in the table."""
    return reason_words(each.reason).sentence.format_map(_Parts(each))


class _Parts(dict[str, str]):
    """The fields of a template, computed on access."""

    def __init__(self, each: StoryEvent) -> None:
        super().__init__()
        self._each = each

    def __missing__(self, name: str) -> str:
        return PARTS[name](self._each)


# -- GPUs and the line -----------------------------------------------------------------------------


def _asks(each: StoryEvent) -> str:
    """As `asked`, but with "asks for" instead of "needs" for rigid jobs."""
    return f"asks for {gpus(each.gpus)}" if each.least_gpus is None else asked(each)


def _needs_itself(each: StoryEvent) -> str:
    return asked(each).replace(gpus(each.gpus), f"{gpus(each.gpus)} itself", 1)


def _refused(each: StoryEvent) -> str:
    """Clause for an elastic job that could have run on the free GPUs."""
    is_refused = each.least_gpus is not None and each.least_gpus <= (each.free_gpus or 0)
    return ", but the policy gave it none of them" if is_refused else ""


def _head(each: StoryEvent, need: str = "") -> str:
    if not each.others:
        return "the head of the line"
    return f"{job_name(each.others[0].job)}, which needs {gpus(each.others[0].gpus)}{need}"


def _others_after(introduction: str, each: StoryEvent, end: str = "") -> str:
    return f"{introduction}{jobs(each.others, each.others_total)}{end}" if each.others else ""


def _first_others(introduction: str, each: StoryEvent) -> str:
    """The others, which are those of the beginning of the wait."""
    first = " at first" if each.released else ""
    return _others_after(f"{introduction}{first}: ", each)


# -- time ------------------------------------------------------------------------------------------


def _timed(before: str, each: StoryEvent, after: str = "") -> str:
    if each.until_us is None:
        return ""
    return f"{before}{duration_words(each.until_us - each.time_us)}{after}"


# -- compared with other jobs ----------------------------------------------------------------------


def _rhos(each: StoryEvent) -> str:
    if each.measure is None or each.bar is None:
        return ""
    own, lowest = told_apart(each.measure, each.bar)
    return f": its rho {own}, lowest winning rho {lowest}"


def _shares(each: StoryEvent) -> str:
    if each.measure is None or each.bar is None:
        return "others that wait"
    own, lowest = told_apart(each.measure, each.bar)
    return f"others that wait: dominant share {own}, lowest waiting {lowest}"


def _fall(each: StoryEvent) -> str:
    """Loss reduction of the job compared with those of running jobs."""
    if each.measure is None or each.bar is None:
        return "less per GPU than those of the jobs that run"
    unit = "of its largest change in one step"
    if is_as_much(each.measure, each.bar):
        return f"as much per GPU as that of the last job that runs: by {each.measure:.3g} {unit}"
    own, least = told_apart(each.measure, each.bar)
    return (
        f"less per GPU than those of the jobs that run: by {own} {unit}, theirs by at least {least}"
    )


def _left(each: StoryEvent) -> str:
    """Remaining work of the job compared with that of running jobs."""
    if each.measure is None or each.bar is None:
        return "more left to do than the jobs that run"
    if is_as_much(each.measure, each.bar):
        left = _on_one_gpu(each.measure)
        return f"as much left to do as the last job that runs: {left} on one GPU"
    own, most = told_apart(each.measure, each.bar, _on_one_gpu, " s")
    return f"more left to do than the jobs that run: {own} on one GPU, they at most {most}"


def _left_assumed(each: StoryEvent) -> str:
    if each.measure is None:
        return "no job's end is predicted, so those go first that run with the fewest GPUs"
    return (
        "no end of it is predicted, so it is taken to need as long as others, in the median, and "
        f"to have {_left(each)}"
    )


def _on_one_gpu(gpu_s: float) -> str:
    return duration_words(round(gpu_s * SECOND_US))


def _uses(each: StoryEvent) -> str:
    """Use of CPU and network with the job in its best group compared with that without it."""
    if each.measure is None or each.bar is None:
        return "no group would use CPU and network more with it"
    own, now = (f"{100 * value:.1f} %" for value in (each.measure, each.bar))
    if each.measure > each.bar:
        return f"the use of CPU and network would rise only from {now} to {own} with it"
    return f"CPU and network would be used {own} with it in the best group, as against {now}"


# -- CPUs and memory -------------------------------------------------------------------------------


def _short_of(what: str, each: StoryEvent) -> str:
    """An elastic job may run with a part of the free GPUs."""
    if each.least_gpus is None:
        return f"not enough {what} beside them"
    if each.usable_gpus is None:
        return f"not enough {what} beside {each.gpus:,} of them"
    count = f"only {each.usable_gpus:,}" if each.usable_gpus else "none"
    return f"{count} of them with enough {what} beside {'it' if each.usable_gpus == 1 else 'them'}"


# -- queues ----------------------------------------------------------------------------------------


def _its_queue(each: StoryEvent) -> str:
    return f"queue {each.job_queue}" if each.job_queue else "its queue"


def _of_queue(each: StoryEvent) -> str:
    """ "4 GPUs and holds 3"."""
    if each.measure is None or each.bar is None:
        return "fewer GPUs"
    return f"{gpus(round(each.bar))} and holds {each.measure:,.0f}"


# -- before a job reaches the engine ---------------------------------------------------------------


def _jobs_before(each: StoryEvent) -> str:
    """ "job 1 has succeeded", "jobs 1, 2 and 3 have succeeded"."""
    have = "has" if each.others_total == 1 else "have"
    named = listed([other.job for other in each.others], each.others_total)
    return f"job{'' if each.others_total == 1 else 's'} {named} {have} succeeded"


def _fewer_jobs(each: StoryEvent) -> str:
    most = round(each.bar or 0)
    return f"fewer than {most:,} jobs" if most > 1 else "no other jobs"


# -- machines --------------------------------------------------------------------------------------


def _drained(each: StoryEvent) -> str:
    """ "2 of 4 GPUs are on machines that are drained, closed or gone"."""
    if each.measure is None or each.bar is None:
        return "others are on machines that are drained, closed or gone"
    are = "is on a machine that is" if each.measure == 1 else "are on machines that are"
    return f"{each.measure:,.0f} of {gpus(round(each.bar))} {are} drained, closed or gone"


PARTS: Mapping[str, Callable[[StoryEvent], str]] = {
    "needs": asked,
    "needs_itself": _needs_itself,
    "asks": _asks,
    "gpus": lambda each: gpus(each.gpus),
    "free": free,
    "place": place_in_line,
    "refused": _refused,
    "head": _head,
    "head_closer_together": partial(_head, need=" closer together"),
    "before": partial(_first_others, "; ran ahead of it"),
    "ran_before": partial(_others_after, " (", end=" ran before it)"),
    "running": partial(_first_others, "; running"),
    "holders": partial(_others_after, ": "),
    "again": partial(_timed, "; the policy decides again within "),
    "restart": partial(_timed, ": within "),
    "preemptible_later": partial(_timed, ", which may be preempted after "),
    "anywhere_later": partial(_timed, "; after ", after=" it takes them anywhere"),
    "rhos": _rhos,
    "shares": _shares,
    "fall": _fall,
    "left": _left,
    "left_assumed": _left_assumed,
    "its_queue": _its_queue,
    "of_queue": _of_queue,
    "uses": _uses,
    "drained": _drained,
    "short_of_cpus": partial(_short_of, "CPUs"),
    "short_of_memory": partial(_short_of, "memory"),
    "jobs_before": _jobs_before,
    "fewer_jobs": _fewer_jobs,
    "refusal": lambda each: each.told,
}
"""The fields that templates may contain."""
