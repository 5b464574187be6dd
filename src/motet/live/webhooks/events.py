"""Events that webhooks tell, from the records of the journal. Pure.

An event follows from its record alone, and so does its id: whoever reads the journal again finds
the same events, and a program that has got one twice notices it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from motet.live.journal.record import Record
from motet.live.master.facts import (
    AttemptIdle,
    AttemptOver,
    AttemptRan,
    DependencyFailed,
    Fact,
    JobAccepted,
    JobChanged,
    MachineDrained,
    MachineNoted,
    MachineResumed,
    TrialPassed,
    facts_from_json,
)

KINDS = (
    *("job.submitted", "job.suspended", "job.resumed", "job.idle", "job.ended"),
    *("attempt.started", "attempt.ended"),
    *("machine.changed", "machine.drained", "machine.resumed"),
)
"""All that can be subscribed."""
TEST = "webhook.test"
"""The kind of the message of `motet webhook test`."""


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """`id`: unique in the journal. `at_us`: Unix time. `job`: None: it is about no job. `fields`:
    what is told beside the job."""

    id: str
    kind: str
    at_us: int
    job: int | None
    fields: Mapping[str, Any]


def events_of_record(record: Record) -> list[WebhookEvent]:
    """In the order in which they happened. Raises BadInput."""
    told = [each for fact in facts_from_json(record.facts) for each in _events(fact)]
    return [
        WebhookEvent(f"msg_{record.sequence}_{number}", kind, record.at_us, job, fields)
        for number, (kind, job, fields) in enumerate(told)
    ]


def _events(fact: Fact) -> Iterator[tuple[str, int | None, Mapping[str, Any]]]:
    match fact:
        case JobAccepted(job):
            yield "job.submitted", job, {}
        case JobChanged(job, verb, user):
            yield from _changed(job, verb, user)
        case DependencyFailed() | TrialPassed():
            yield _settled(fact)
        case AttemptRan(job, attempt):
            yield "attempt.started", job, {"attempt": attempt}
        case AttemptIdle(job, attempt, since_us) if since_us is not None:
            yield "job.idle", job, {"attempt": attempt}
        case AttemptOver():
            yield from _over(fact)
        case MachineNoted(name, _, condition):
            yield "machine.changed", None, {"machine": name, "condition": condition}
        case MachineDrained(name, reason, user):
            about = {"machine": name, "reason": reason, "user": user or None}
            yield "machine.drained", None, about
        case MachineResumed(name, user):
            yield "machine.resumed", None, {"machine": name, "user": user}


def _settled(fact: DependencyFailed | TrialPassed) -> tuple[str, int, Mapping[str, Any]]:
    if isinstance(fact, TrialPassed):
        return "job.ended", fact.job, _end("SUCCEEDED", "the trial has passed")
    return "job.ended", fact.job, _end("FAILED" if fact.trial else "CANCELLED", fact.reason)


def _changed(job: int, verb: str, user: str) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    if verb == "cancel":
        yield "job.ended", job, _end("CANCELLED", f"cancelled by {user}")
    else:
        yield {"suspend": "job.suspended", "resume": "job.resumed"}[verb], job, {"user": user}


def _end(state: str, reason: str) -> Mapping[str, Any]:
    """Of a job that no failure of an attempt has ended."""
    return {"state": state, "failure": None, "reason": reason}


def _over(fact: AttemptOver) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
    about = {"failure": fact.failure or None, "reason": fact.reason}
    yield "attempt.ended", fact.job, {"attempt": fact.attempt, "outcome": fact.outcome, **about}
    if fact.end is not None:
        yield "job.ended", fact.job, {"state": fact.end, **about}
