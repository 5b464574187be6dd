"""How long a job waits that has failed several times in a row, as a part of its story. Pure.

The engine logs when its policy decides again, which may be earlier.
"""

from __future__ import annotations

from dataclasses import replace

from motet.domain.units import microseconds
from motet.domain.wait import Wait
from motet.insight.story_event import StoryEvent
from motet.live.jobs.job import LiveJob
from motet.live.jobs.retry import delay_s


def with_restart_delay(event: StoryEvent, job: LiveJob) -> StoryEvent:
    """The event; of a wait for a restart, with the time at which it may begin."""
    if event.reason != Wait.RESTART_DELAYED.key:
        return event
    ended = [
        each
        for each in job.attempts
        if each.freed_us is not None and each.freed_us <= event.time_us
    ]
    if not ended:
        return event
    last, before = ended[-1], replace(job, attempts=ended)
    freed_us = last.freed_us or event.time_us
    until_us = freed_us + microseconds(delay_s(before, last.failure, freed_us))
    return replace(event, until_us=until_us if until_us > event.time_us else None)
