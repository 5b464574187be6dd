"""The sentence of a wait, in the words of the live cluster. Pure."""

from __future__ import annotations

from functools import lru_cache

from motet.domain.log_entry import LogEntry
from motet.insight.log_events import story_event
from motet.insight.waits import wait_sentence
from motet.insight.wording import in_slots, job_name, listed
from motet.live.master.state import LiveState

_SENTENCES = 16_384


def wait_words(state: LiveState, entry: LogEntry) -> str:
    """Why a job waits by an entry, and which of the jobs that it names have ended: a wait is told
    anew only if its reason changes."""
    ended = [str(job) for job, _ in entry.others.first if state.jobs[job].state.is_final]
    if not ended:
        return _sentence(entry)
    names = listed([job_name(each) for each in ended], len(ended))
    return f"{_sentence(entry)}; {names} {'has' if len(ended) == 1 else 'have'} ended since"


@lru_cache(_SENTENCES)
def _sentence(entry: LogEntry) -> str:
    """Kept: lists of jobs tell the same waits at every request. A wait names no machine."""
    return in_slots(wait_sentence(story_event(entry, str, ())))
