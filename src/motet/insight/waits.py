"""Why a job waits, in a sentence for every reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from motet.domain.units import SECOND_US
from motet.insight.story_event import Happening
from motet.insight.wording import (
    asked,
    duration_words,
    free,
    gpus,
    is_as_much,
    job_name,
    jobs,
    place_in_line,
    told_apart,
)


def _too_few(each: Happening) -> str:
    refused = ""
    if each.least_gpus is not None and each.least_gpus <= (each.free_gpus or 0):
        refused = ", but the policy gave it none of them"
    return f"{asked(each)}, {free(each)} at its turn{refused}{place_in_line(each)}{_before(each)}"


def _behind(of_head: str) -> Callable[[Happening], str]:
    def account(each: Happening) -> str:
        head = each.others[0] if each.others else None
        needs = f"{job_name(head.job)}, which needs {gpus(head.gpus)}{of_head}" if head else ""
        return f"may not overtake {needs or 'the head of the line'}; {_itself(each)}"

    return account


def _locality(each: Happening) -> str:
    until = ""
    if each.until_us is not None:
        until = f"; after {duration_words(each.until_us - each.time_us)} it takes them anywhere"
    running = f"; running: {_others(each)}" if each.others else ""
    return (
        f"{free(each)}, but not {gpus(each.gpus)} on as few machines as it "
        f"insists on{place_in_line(each)}{until}{running}"
    )


def _quota(each: Happening) -> str:
    holders = f": {_others(each)}" if each.others else ""
    return f"its queue used up its quota{holders}; {asked(each)}{place_in_line(each)}"


def _order(each: Happening) -> str:
    return f"the policy kept it back: {free(each)}, it {asked(each)}{_again(each)}"


def _outbid(each: Happening) -> str:
    rhos = ""
    if each.measure is not None and each.bar is not None:
        own, lowest = told_apart(each.measure, each.bar)
        rhos = f": its rho {own}, lowest winning rho {lowest}"
    return f"outbid{rhos}; {asked(each)}, {free(each)}{_again(each)}"


def _lease_over(each: Happening) -> str:
    before = f" ({_others(each)} ran before it)" if each.others else ""
    return (
        "its lease ended early, as payment for what it won, and others have the GPUs until the "
        f"next auction{before}; {asked(each)}, {free(each)}{_again(each)}"
    )


def _share(each: Happening) -> str:
    shares = "others that wait"
    if each.measure is not None and each.bar is not None:
        own, lowest = told_apart(each.measure, each.bar)
        shares = f"others that wait: dominant share {own}, lowest waiting {lowest}"
    return f"its queue holds more than {shares}; {_itself(each)}"


# -- compared by what is predicted -----------------------------------------------------------------


def _less_progress(each: Happening) -> str:
    return f"its loss is predicted to fall {_less(each)}; {_asks(each)}"


def _fall_unknown(each: Happening) -> str:
    return (
        "no loss of it is known, so it is taken to fall as 1/(1 + k) with k steps: "
        f"{_less(each)}; {_asks(each)}"
    )


def _less(each: Happening) -> str:
    """Than the losses of others."""
    if each.measure is None or each.bar is None:
        return "less per GPU than those of the jobs that run"
    unit = "(in units of the largest change of a step)"
    if is_as_much(each.measure, each.bar):
        return f"as much per GPU as that of the last job that runs: {each.measure:.3g} {unit}"
    own, least = told_apart(each.measure, each.bar)
    return f"less per GPU than those of the jobs that run: {own}, theirs at least {least} {unit}"


def _more_left(each: Happening) -> str:
    return f"predicted to have {_more(each)}; {_asks(each)}"


def _left_unknown(each: Happening) -> str:
    if each.measure is None:
        return (
            "no job's end is predicted, so those go first that run with the fewest GPUs; "
            f"{_asks(each)}"
        )
    return (
        "no end of it is predicted, so it is taken to need as long as others, in the median, and "
        f"to have {_more(each)}; {_asks(each)}"
    )


def _more(each: Happening) -> str:
    """Left to do than others."""
    if each.measure is None or each.bar is None:
        return "more left to do than the jobs that run"
    if is_as_much(each.measure, each.bar):
        left = _on_one_gpu(each.measure)
        return f"as much left to do as the last job that runs: {left} on one GPU"
    own, most = told_apart(each.measure, each.bar, _on_one_gpu, " s")
    return f"more left to do than the jobs that run: {own} on one GPU, they at most {most}"


def _on_one_gpu(gpu_s: float) -> str:
    return duration_words(round(gpu_s * SECOND_US))


# -- CPUs and memory -------------------------------------------------------------------------------


def _beside(what: str) -> Callable[[Happening], str]:
    def account(each: Happening) -> str:
        found = f"{asked(each)}, {free(each)} at its turn, but {_short(each, what)}"
        return f"{found}{place_in_line(each)}{_before(each)}"

    return account


def _short(each: Happening, what: str) -> str:
    """An elastic job may run with a part of what is free."""
    if each.least_gpus is None:
        return f"not enough {what} beside them"
    if each.usable_gpus is None:
        return f"not enough {what} beside {each.gpus:,} of them"
    count = f"only {each.usable_gpus:,}" if each.usable_gpus else "none"
    return f"{count} of them with enough {what} beside {'it' if each.usable_gpus == 1 else 'them'}"


# -- parts -----------------------------------------------------------------------------------------


def _asks(each: Happening) -> str:
    """Also of rigid jobs."""
    asks = f"asks for {gpus(each.gpus)}" if each.least_gpus is None else asked(each)
    return f"{asks}, {free(each)}{place_in_line(each)}"


def _itself(each: Happening) -> str:
    itself = asked(each).replace(gpus(each.gpus), f"{gpus(each.gpus)} itself", 1)
    return f"{itself}, {free(each)}{place_in_line(each)}"


def _again(each: Happening) -> str:
    if each.until_us is None:
        return ""
    return f"; it decides again within {duration_words(each.until_us - each.time_us)}"


def _before(each: Happening) -> str:
    return f"; before it ran {_others(each)}" if each.others else ""


def _others(each: Happening) -> str:
    return jobs(each.others, each.others_total)


WAITS: Mapping[str, Callable[[Happening], str]] = {
    "too_few_gpus": _too_few,
    "behind_head": _behind(""),
    "behind_locality": _behind(" closer together"),
    "locality": _locality,
    "quota": _quota,
    "order": _order,
    "less_progress": _less_progress,
    "fall_unknown": _fall_unknown,
    "more_left": _more_left,
    "left_unknown": _left_unknown,
    "too_few_cpus": _beside("CPUs"),
    "too_little_memory": _beside("memory"),
    "share": _share,
    "outbid": _outbid,
    "lease_over": _lease_over,
}
