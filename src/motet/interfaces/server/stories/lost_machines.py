"""The time in which a lost machine may still run processes of a job, as a wait. Pure.

The engine gives the job slots of other machines as soon as a machine is lost; the next attempt
begins when the processes of the lost one have certainly ended, at the latest with their lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from motet.insight.cluster_wait import ClusterWait
from motet.insight.story_event import StoryEvent
from motet.live.jobs.attempt import Attempt, StopCause

_GETS_SLOTS = ("start", "resume")
_CHANGES_SLOTS = ("wait", "preempt", "evict", "suspend", "unsuspend", "migrate", "resize")
_ENDS = ("finish", "fail", "cancel", "time_out")


def with_lease_waits(
    events: Iterable[StoryEvent], attempts: Sequence[Attempt]
) -> Iterator[StoryEvent]:
    """The events in the order of their times; in place of a `start` or `resume` during the end of
    an attempt that has lost a machine, a wait, and the event when that attempt has ended."""
    begin: StoryEvent | None = None
    for event in events:
        if begin is not None and begin.time_us <= event.time_us:
            yield begin
            begin = None
        if event.event in (*_CHANGES_SLOTS, *_ENDS):
            begin = None
        lost = _lost_at(attempts, event.time_us) if event.event in _GETS_SLOTS else None
        if lost is None:
            yield event
            continue
        yield StoryEvent(event.time_us, "wait", event.gpus, ClusterWait.MACHINE_LOST.key)
        begin = None if lost.freed_us is None else replace(event, time_us=lost.freed_us)
    if begin is not None:
        yield begin


def _lost_at(attempts: Sequence[Attempt], at_us: int) -> Attempt | None:
    """The attempt that has lost a machine, and whose processes may run at that time."""
    for each in attempts:
        if each.stop_cause is not StopCause.MACHINE_LOST or each.stopping_us is None:
            continue
        if each.stopping_us <= at_us and (each.freed_us is None or at_us < each.freed_us):
            return each
    return None
