"""When the runs of a live job ended, as a part of its story. Pure.

The engine logs the end of a run when the server hears of it: after an outage of the server, that is
much later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from motet.domain.units import SECOND_US
from motet.insight.cluster_wait import ClusterWait
from motet.insight.story_event import StoryEvent
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob

_GETS_SLOTS = ("start", "resume")
_WAITS = ("wait", "preempt", "evict", "suspend", "unsuspend")
_AT_THEIR_TIME = (*_GETS_SLOTS, "cancel", "time_out")
"""The next run, and what ended the job whatever its processes had done."""
_LATE_US = SECOND_US


def with_true_ends(events: Iterable[StoryEvent], job: LiveJob) -> Iterator[StoryEvent]:
    """The events in the order of their times.

    An event that the server logged of a run (or of a job, after its last run) between the end and
    the news of it has the time of the end. Before a `start` or `resume` that was logged with such
    news, a wait since the end is inserted if the news was late by a second or more.
    """
    runs, begin_us, last_us = False, 0, 0
    for event in events:
        begins = event.event in _GETS_SLOTS
        found = [*_late_news(event, job.attempts)] if begins and runs else []
        if event.event in _AT_THEIR_TIME:
            found.append(event)
        else:
            found.append(_at_true_time(event, _unheard(job, begin_us if runs else None)))
        for each in found:
            last_us = max(last_us, each.time_us)
            yield replace(each, time_us=last_us)
        runs = begins or (runs and event.event not in _WAITS)
        begin_us = event.time_us if begins else begin_us


def _unheard(job: LiveJob, begin_us: int | None) -> Sequence[Attempt]:
    """Attempts whose end may be earlier than what was logged of the job. `begin_us`: of the run;
    None: the job does not run."""
    if begin_us is not None:
        return [each for each in job.attempts if each.requested_us >= begin_us]
    return job.attempts[-1:] if job.state.is_final else ()


def _late_news(begin: StoryEvent, attempts: Sequence[Attempt]) -> Iterator[StoryEvent]:
    reason = ClusterWait.END_UNKNOWN.key
    for each in attempts:
        if each.freed_us == begin.time_us and each.unheard_us >= _LATE_US:
            yield StoryEvent(begin.time_us - each.unheard_us, "wait", begin.gpus, reason)


def _at_true_time(event: StoryEvent, attempts: Sequence[Attempt]) -> StoryEvent:
    for each in attempts:
        if each.ended_us is not None and each.ended_us < event.time_us <= (each.freed_us or 0):
            return replace(event, time_us=each.ended_us)
    return event
