"""What a training proposed for itself, and whether the engine granted it. Pure."""

from __future__ import annotations

from typing import Any

from motet.domain.units import iso_time
from motet.insight.sentences import gain_words, refusal_words
from motet.insight.wording import counted, in_slots
from motet.live.jobs.job import LiveJob
from motet.live.master.state import LiveState

_SIZED = ("propose", "keep", "start", "resume", "migrate", "resize")


def proposed_size(state: LiveState, job: LiveJob) -> dict[str, Any] | None:
    """The latest proposal; None: there is none. `at`: ISO 8601. `gain`: part of an epoch that
    it would save. `refusal`: why the job runs with fewer slots than that; empty: it does not."""
    found = job.proposal
    if found is None:
        return None
    refusal = _refusal(state, job)
    size = f"{counted(found.workers, 'worker')} and {counted(found.servers, 'server')}"
    told = f"{size} ({gain_words(found.gain)})"
    if refusal:
        told += f"; not granted in full: {refusal}"
    elif _is_granted(job):
        told += "; granted"
    return {
        "workers": found.workers,
        "servers": found.servers,
        "gain": found.gain,
        "attempt": found.attempt,
        "at": iso_time(found.at_us),
        "refusal": refusal,
        "sentence": told,
    }


def _is_granted(job: LiveJob) -> bool:
    """Whether an attempt after that which proposed it has the size."""
    found, last = job.proposal, job.attempts[-1]
    if found is None or last.number <= found.attempt:
        return False
    return (last.workers, last.servers) == (found.workers, found.servers)


def _refusal(state: LiveState, job: LiveJob) -> str:
    sized = [each for each in state.history.of(job.number) if each.event in _SIZED]
    if not sized or sized[-1].event != "keep":
        return ""
    return in_slots(refusal_words(sized[-1].refusal))
