"""Words for times, GPUs, machines and jobs in sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isclose

from motet.insight.story_event import OtherJob, StoryEvent, TeamSize

_MOST_MACHINES = 6
_ROUNDING = 1e-9
_WORKERS = re.compile(r"(?<=\d )worker(s)?\b")
_GPUS = re.compile(r"\bGPU(s|-seconds)?\b")


def job_name(job: str) -> str:
    """An id as a noun: "job 17" for 17."""
    return f"job {job}" if job.isdecimal() else job


def counted(count: int, name: str) -> str:
    """ "1 GPU", "2 GPUs"."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def sizes_had(least: int | None, most: int) -> str:
    """ "2", "2 to 6": what a training has had; "up to 8": what it might have had, `least` None."""
    if least is None:
        return f"up to {most:,}"
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def gpus(count: int) -> str:
    """ "1 GPU", "2 GPUs"."""
    return counted(count, "GPU")


def asked(each: StoryEvent) -> str:
    """ "needs 4 GPUs"; elastic jobs have a minimum."""
    if each.least_gpus is None:
        return f"needs {gpus(each.gpus)}"
    return f"asks for {gpus(each.gpus)} and runs with {each.least_gpus:,} at least"


def free(each: StoryEvent) -> str:
    """ "3 were free"."""
    count = each.free_gpus or 0
    return f"{count:,} {'was' if count == 1 else 'were'} free" if count else "none was free"


def place_in_line(each: StoryEvent) -> str:
    """Position in the line in brackets, after a space; empty without a line."""
    if each.place is None:
        return ""
    later = "" if each.last_place in (None, each.place) else f", later {each.last_place:,}"
    return f" (place {each.place:,} in line{later})"


def where(machines: Mapping[str, int]) -> str:
    """ "m0 (4 GPUs)", "m0 (4 GPUs) and m3 (2 GPUs)"."""
    named = [f"{name} ({gpus(count)})" for name, count in machines.items()]
    return listed(named[:_MOST_MACHINES], len(named))


def team(with_: TeamSize) -> str:
    """ "2 workers and 1 server"."""
    servers = f" and {counted(with_.servers, 'server')}" if with_.servers else ""
    return f"{counted(with_.workers, 'worker')}{servers}"


def change_of_team(before: TeamSize, after: TeamSize) -> str:
    """ "4 workers and 4 servers to 5 and 3", "1 worker to 3"."""
    if before.servers and after.servers:
        return f"{team(before)} to {after.workers:,} and {after.servers:,}"
    if before.servers or after.servers:
        return f"{team(before)} to {team(after)}"
    return f"{team(before)} to {after.workers:,}"


def jobs(others: Sequence[OtherJob], total: int) -> str:
    """Jobs with their GPUs: "job 3 (2 GPUs), job 5 (1 GPU) and 4 more"."""
    return listed([f"{job_name(other.job)} ({gpus(other.gpus)})" for other in others], total)


def listed(named: Sequence[str], total: int) -> str:
    """ "a, b and 4 more"."""
    if total > len(named):
        return f"{', '.join(named)} and {total - len(named):,} more"
    return " and ".join(filter(None, [", ".join(named[:-1]), *named[-1:]]))


def is_as_much(one: float, other: float) -> bool:
    """Whether two numbers are equal except for rounding."""
    return isclose(one, other, rel_tol=_ROUNDING)


def told_apart(
    one: float, other: float, words: Callable[[float], str] = "{:.3g}".format, unit: str = ""
) -> tuple[str, str]:
    """Two numbers in words; if these are equal, with `unit` and the digits required to distinguish
    them.
    """
    texts = words(one), words(other)
    for digits in range(4, 18):
        if texts[0] != texts[1]:
            break
        texts = f"{one:.{digits}g}{unit}", f"{other:.{digits}g}{unit}"
    return texts


def in_slots(sentence: str) -> str:
    """The sentence for machines that offer slots: "needs 2 slots" for "needs 2 GPUs"."""
    return _GPUS.sub(lambda found: f"slot{found[1] or ''}", sentence)


def in_processes(sentence: str) -> str:
    """The sentence about a job that has no workers and servers: "4 processes" for "4 workers"."""
    return _WORKERS.sub(lambda found: "processes" if found[1] else "process", sentence)
