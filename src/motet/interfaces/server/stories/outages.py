"""Times in which the cluster could not be reached, as waits in the story of a job. Pure.

The engine sees machines that take no jobs, and logs that too few slots are free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from motet.insight.cluster_wait import ClusterWait
from motet.insight.story_event import StoryEvent
from motet.live.master.machine_drains import Outage

_CHANGES = ("migrate", "resize", "start", "resume", "finish", "fail", "cancel", "time_out")
"""Events after which a job does not wait."""
_LEAVES = (*_CHANGES, "preempt", "evict", "suspend", "unsuspend")
"""Events that end a wait, or begin another one."""


def with_outages(events: Sequence[StoryEvent], outages: Iterable[Outage]) -> list[StoryEvent]:
    """The events of a job, in order; its waits during an outage are for the cluster."""
    found = [*events]
    for outage in outages:
        found = _with_outage(found, outage)
    return found


def _with_outage(events: Sequence[StoryEvent], outage: Outage) -> list[StoryEvent]:
    before = [each for each in events if each.time_us < outage.from_us]
    during = [each for each in events if outage.covers(each.time_us)]
    after = events[len(before) + len(during) :]
    present = next((each for each in reversed(before) if _is_wait_or_leaves(each)), None)
    hidden = present if present is not None and present.event == "wait" else None
    found = [*before, *([_outage_wait(hidden, outage.from_us, outage)] if hidden else ())]
    for each in during:
        if each.event != "wait":
            hidden = None if each.event in _LEAVES else hidden
            found.append(each)
        else:
            if hidden is None:
                found.append(_outage_wait(each, each.time_us, outage))
            hidden = each
    goes_on = after and after[0].time_us == outage.until_us and after[0].event in _LEAVES
    if hidden is not None and outage.until_us is not None and not goes_on:
        found.append(replace(hidden, time_us=outage.until_us))
    return [*found, *after]


def _is_wait_or_leaves(each: StoryEvent) -> bool:
    return each.event == "wait" or each.event in _LEAVES


def _outage_wait(wait: StoryEvent, at_us: int, outage: Outage) -> StoryEvent:
    key = ClusterWait.CLUSTER_UNREACHABLE.key
    return StoryEvent(at_us, "wait", wait.gpus, key, told=outage.refusal)
