"""When the runs of a live job ended, as a part of its story. Pure.

The engine logs the end of a run when the server hears of it: after an outage of the server, that is
much later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from motet.insight.story_event import StoryEvent
from motet.live.jobs.attempt import Attempt

_AT_THEIR_TIME = ("start", "resume", "cancel", "time_out")
"""The next run, and what ended the job whatever its processes had done."""


def with_true_ends(
    events: Iterable[StoryEvent], attempts: Sequence[Attempt]
) -> Iterator[StoryEvent]:
    """The events in their order; those that the server logged between the end of an attempt and the
    news of it have the time of the end: nothing ran any more."""
    for event in events:
        yield event if event.event in _AT_THEIR_TIME else _at_true_time(event, attempts)


def _at_true_time(event: StoryEvent, attempts: Sequence[Attempt]) -> StoryEvent:
    for each in attempts:
        if each.ended_us is not None and each.ended_us < event.time_us <= (each.freed_us or 0):
            return replace(event, time_us=each.ended_us)
    return event
