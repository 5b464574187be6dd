"""When the runs of a live job ended, as a part of its story. Pure.

The engine logs the end of a run when the server hears of it: after an outage of the server, that is
much later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from motet.domain.units import SECOND_US
from motet.insight.story_event import StoryEvent
from motet.live.jobs.attempt import Attempt
from motet.live.jobs.job import LiveJob

_GETS_SLOTS = ("start", "resume")
_WAITS = ("wait", "preempt", "evict", "suspend", "unsuspend")
_AT_THEIR_TIME = (*_GETS_SLOTS, "cancel", "time_out")
"""The next run, and what ended the job whatever its processes had done."""
_LATE_US = SECOND_US


def with_true_ends(events: Iterable[StoryEvent], job: LiveJob) -> Iterator[StoryEvent]:
    """The events in their order. Those that the server logged of a run between its end and the news
    of it, or of a job between its last end and the news, have the time of the end. A job that gets
    slots again with such news has waited since the end; reports that are not late are part of the
    run."""
    runs = False
    for event in events:
        if event.event in _GETS_SLOTS and runs:
            yield from _late_news(event, job.attempts)
        if event.event in _AT_THEIR_TIME:
            yield event
        else:
            yield _at_true_time(event, _unheard(job, runs=runs))
        runs = event.event in _GETS_SLOTS or (runs and event.event not in _WAITS)


def _unheard(job: LiveJob, *, runs: bool) -> Sequence[Attempt]:
    """Attempts whose end may be earlier than what was logged of the job."""
    return job.attempts if runs else job.attempts[-1:] if job.state.is_final else ()


def _late_news(begin: StoryEvent, attempts: Sequence[Attempt]) -> Iterator[StoryEvent]:
    for each in attempts:
        if each.freed_us == begin.time_us and each.unheard_us >= _LATE_US:
            yield StoryEvent(begin.time_us - each.unheard_us, "wait", begin.gpus)


def _at_true_time(event: StoryEvent, attempts: Sequence[Attempt]) -> StoryEvent:
    for each in attempts:
        if each.ended_us is not None and each.ended_us < event.time_us <= (each.freed_us or 0):
            return replace(event, time_us=each.ended_us)
    return event
