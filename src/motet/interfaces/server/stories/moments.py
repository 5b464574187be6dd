"""Moments of a live job that the engine's log does not have, as rows of an explanation. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from motet.domain.units import seconds
from motet.insight.replay_words import policy_words
from motet.live.jobs.job import LiveJob
from motet.live.master.facts import PolicyChosen
from motet.live.master.state import LiveState


def with_moments(
    chapters: Iterable[dict[str, Any]], state: LiveState, job: LiveJob, now_us: int
) -> list[dict[str, Any]]:
    """The chapters of a job, changes of the policy and the job, and failed attempts, by time."""
    ends_us = job.ended_us or now_us
    moments = [*_policy_changes(state, job, ends_us), *_changes(job), *_failures(job)]
    return sorted([*moments, *chapters], key=lambda chapter: float(chapter["from"]))


def _policy_changes(state: LiveState, job: LiveJob, ends_us: int) -> Iterator[dict[str, Any]]:
    for at_us, chosen in state.policies:
        if job.submitted_us < at_us <= ends_us:
            who = f" by {chosen.user}" if chosen.user else ""
            sentence = f"the policy was changed to {policy_text(chosen)}{who}"
            yield _moment(at_us, "policy", sentence)


def _changes(job: LiveJob) -> Iterator[dict[str, Any]]:
    for each in job.changes:
        sentence = f"{each.field} was changed from {each.before} to {each.after} by {each.user}"
        yield _moment(each.at_us, "update", sentence)


def _failures(job: LiveJob) -> Iterator[dict[str, Any]]:
    for attempt in job.attempts:
        if attempt.reason and attempt.ended_us is not None:
            kind = f" ({attempt.failure})" if attempt.failure else ""
            sentence = f"attempt {attempt.number} {attempt.outcome}{kind}: {attempt.reason}"
            yield _moment(attempt.ended_us, "attempt", sentence)


def _moment(at_us: int, event: str, sentence: str) -> dict[str, Any]:
    return {
        "kind": "moment",
        "from": seconds(at_us),
        "to": None,
        "duration_s": None,
        "event": event,
        "sentence": sentence,
    }


def policy_text(chosen: PolicyChosen) -> str:
    """`tiresias-las (quantum_s=1)`."""
    return policy_words(chosen.policy, chosen.settings)
