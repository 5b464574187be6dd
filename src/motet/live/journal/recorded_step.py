"""The JSON forms of actions and of what a decision changed, in a record of the journal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.decision import GroupForecast, GroupMeasurement, Straggler
from motet.domain.log_entry import LogEntry, OtherJobs, Team
from motet.domain.snapshot import Placement
from motet.engine.effects import DecisionEffects, DeclaredPolicy

_KINDS: Mapping[str, type[Start | Migrate]] = {"Start": Start, "Migrate": Migrate}
_USUAL = LogEntry._field_defaults


@dataclass(frozen=True)
class RecordedDecision:
    """`effects`: None: the step made no decision. `entries`: of the decision log."""

    effects: DecisionEffects | None
    entries: Sequence[LogEntry]


def actions_text(actions: Sequence[Action]) -> str:
    """Actions as a record has them."""
    return _text([[type(action).__name__, *action] for action in actions])


def actions_of(text: str) -> list[Action]:
    """The actions of a record. Raises ValueError, TypeError, KeyError for other text."""
    return [_action(*each) for each in json.loads(text)]


def decision_text(decision: RecordedDecision, actions: Sequence[Action]) -> str:
    """A decision as a record has it. `actions`: those of the record, which are not repeated."""
    effects = decision.effects
    if effects is None and not decision.entries:
        return "null"
    values: dict[str, Any] = {"entries": [_entry_values(each) for each in decision.entries]}
    if effects is not None:
        parts = {
            "memory": {
                name: [[amount, _gaps(jobs)] for amount, jobs in changes]
                for name, changes in effects.memory.items()
            },
            "waits": [*effects.waits.items()],
            "partners": [*effects.partners.items()],
        }
        values |= {name: part for name, part in parts.items() if part}
        values["recheck_us"] = effects.recheck_at_us
        if effects.has_failed:
            values["failed"] = True
        if (text := actions_text(effects.actions)) != actions_text(actions):
            values["actions"] = json.loads(text)
        if (declared := effects.declared) is not None:
            wants = [declared.wants_estimates, declared.wants_machine_speeds]
            values["policy"] = [dict(declared.memory_columns), *wants]
    return _text(values)


def decision_of(text: str, at_us: int, actions: Sequence[Action]) -> RecordedDecision:
    """The decision of a record. `at_us`, `actions`: of the record. Raises as `actions_of` does."""
    values = json.loads(text)
    if values is None:
        return RecordedDecision(None, ())
    entries = [_entry(at_us, *each) for each in values["entries"]]
    if "recheck_us" not in values:
        return RecordedDecision(None, entries)
    policy = values.get("policy")
    others = values.get("actions")
    effects = DecisionEffects(
        tuple(actions if others is None else [_action(*each) for each in others]),
        {job: tuple(jobs) for job, jobs in values.get("partners", ())},
        {
            name: [(amount, [*accumulate(gaps)]) for amount, gaps in changes]
            for name, changes in values.get("memory", {}).items()
        },
        dict(values.get("waits", ())),
        values["recheck_us"],
        None if policy is None else DeclaredPolicy(*policy),
        values.get("failed", False),
    )
    return RecordedDecision(effects, entries)


def _gaps(ascending: Sequence[int]) -> list[int]:
    """The first number, then the distances to the next ones: they have fewer digits."""
    return [later - sooner for sooner, later in zip((0, *ascending), ascending, strict=False)]


def _action(name: str, job: int, *more: Any) -> Action:
    if name == "Preempt":
        return Preempt(job, *more)
    placement, workers, servers = more
    return _KINDS[name](job, _placement(placement), workers, servers)


def _placement(values: Sequence[Sequence[int]]) -> Placement:
    machines, counts = values
    return Placement(tuple(machines), tuple(counts))


def _entry_values(entry: LogEntry) -> list[Any]:
    """Job and event, and the other fields that are not as usual; the time is the record's."""
    fields = zip(entry._fields[3:], entry[3:], strict=True)
    more = {name: value for name, value in fields if not _is_usual(name, value)}
    return [entry.job, entry.event, more]


def _is_usual(name: str, value: Any) -> bool:
    return bool(value == _USUAL[name] or value != value)  # NaN is usual where it occurs.


def _entry(time_us: int, job: int, event: str, more: Mapping[str, Any]) -> LogEntry:
    values = {
        name: _FORMS[name](value) if name in _FORMS else value for name, value in more.items()
    }
    return LogEntry(time_us, job, event, **values)


def _others(values: tuple[Sequence[Sequence[int]], int]) -> OtherJobs:
    first, total = values
    return OtherJobs(tuple((job, gpus) for job, gpus in first), total)


_FORMS: Mapping[str, Any] = {
    "placement": _placement,
    "others": _others,
    "exchange": _others,
    "left": lambda values: Straggler(*values),
    "forecast": lambda values: GroupForecast(*values),
    "measured": lambda values: GroupMeasurement(*values),
    "team": lambda values: Team(*values),
    "team_before": lambda values: Team(*values),
}


def _text(values: Any) -> str:
    return json.dumps(values, separators=(",", ":"))
