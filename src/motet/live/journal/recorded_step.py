"""The JSON forms of actions and of what a decision changed, in a record of the journal.

Since format 4 what concerns many jobs alike is told once, with the jobs by their steps (`columns`):
a list of jobs that wait for the same does not grow with their number. Records of format 3 name
every job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.decision import GroupForecast, GroupMeasurement, Straggler
from motet.domain.log_entry import LogEntry, OtherJobs, Team, is_wait
from motet.domain.snapshot import Placement
from motet.engine.effects import DecisionEffects, DeclaredPolicy
from motet.live.journal.columns import are_one_value, column_of, numbers_of, steps_of, values_of

_KINDS: Mapping[str, type[Start | Migrate]] = {"Start": Start, "Migrate": Migrate}
_USUAL = LogEntry._field_defaults
_ALIKE = 8
"""So many waits in a row with the same fields, or amounts of a column, are told by columns."""


@dataclass(frozen=True)
class RecordedDecision:
    """`effects`: None: the step made no decision. `entries`: of the decision log."""

    effects: DecisionEffects | None
    entries: Sequence[LogEntry]


def actions_text(actions: Sequence[Action]) -> str:
    """Actions as a record has them."""
    return _text([[type(action).__name__, *_action_values(action)] for action in actions])


def actions_of(text: str) -> list[Action]:
    """The actions of a record. Raises ValueError, TypeError, KeyError for other text."""
    return [_action(*each) for each in json.loads(text)]


def decision_text(decision: RecordedDecision, actions: Sequence[Action]) -> str:
    """A decision as a record has it. `actions`: those of the record, which are not repeated."""
    effects = decision.effects
    if effects is None and not decision.entries:
        return "null"
    values: dict[str, Any] = {"entries": [*_entries_values(decision.entries)]}
    if effects is not None:
        parts = {
            "memory": {name: _changes_form(each) for name, each in effects.memory.items()},
            "waits": [[code, steps_of(jobs)] for code, jobs in _jobs_by_code(effects.waits)],
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
    entries = [entry for each in values["entries"] for entry in _entries(at_us, *each)]
    if "recheck_us" not in values:
        return RecordedDecision(None, entries)
    policy = values.get("policy")
    others = values.get("actions")
    effects = DecisionEffects(
        tuple(actions if others is None else [_action(*each) for each in others]),
        {job: tuple(jobs) for job, jobs in values.get("partners", ())},
        {name: _changes(form) for name, form in values.get("memory", {}).items()},
        _waits(values.get("waits", ())),
        values["recheck_us"],
        None if policy is None else DeclaredPolicy(*policy),
        values.get("failed", False),
    )
    return RecordedDecision(effects, entries)


def _changes_form(changes: Sequence[tuple[int, Sequence[int]]]) -> Any:
    """Amounts with the jobs that change by them; columns of both if most amounts are different."""
    by_job = {job: amount for amount, jobs in changes for job in jobs}
    if len(changes) < _ALIKE or len(changes) * 2 <= len(by_job):
        return [[amount, steps_of(jobs)] for amount, jobs in changes]
    numbers = sorted(by_job)
    return {"jobs": steps_of(numbers), "amounts": column_of([by_job[job] for job in numbers])}


def _changes(form: Any) -> list[tuple[int, list[int]]]:
    if isinstance(form, list):
        return [(amount, numbers_of(steps)) for amount, steps in form]
    found: dict[int, list[int]] = {}
    amounts = values_of(form["amounts"])
    for job, amount in zip(numbers_of(form["jobs"]), amounts, strict=True):
        found.setdefault(amount, []).append(job)
    return [*found.items()]


def _jobs_by_code(waits: Mapping[int, int]) -> Iterator[tuple[int, list[int]]]:
    found: dict[int, list[int]] = {}
    for job in sorted(waits):
        found.setdefault(waits[job], []).append(job)
    yield from found.items()


def _waits(form: Sequence[Any]) -> dict[int, int]:
    """By job. Format 3 has pairs of a job and its code."""
    found: dict[int, int] = {}
    for first, second in form:
        if isinstance(second, list):
            found |= dict.fromkeys(numbers_of(second), first)
        else:
            found[first] = second
    return found


def _action_values(action: Action) -> tuple[Any, ...]:
    """Without the last field where it is as usual, as in journals from before."""
    is_usual = isinstance(action, Preempt) or not action.asynchronous
    return action[:4] if is_usual else action


def _action(name: str, job: int, *more: Any) -> Action:
    if name == "Preempt":
        return Preempt(job, *more)
    placement, workers, servers, *asynchronous = more
    return _KINDS[name](job, _placement(placement), workers, servers, *asynchronous)


def _placement(values: Sequence[Sequence[int]]) -> Placement:
    machines, counts = values
    return Placement(tuple(machines), tuple(counts))


def _entries_values(entries: Sequence[LogEntry]) -> Iterator[list[Any]]:
    """Of each entry: job and event, and the other fields that are not as usual; the time is the
    record's. Of many waits with the same fields: a column of the jobs, the event or a column of the
    events, the fields that are the same in all of them, and columns of the others."""
    told = [(entry, _unusual(entry)) for entry in entries]
    for (are_waits, names), group in groupby(told, lambda each: (is_wait(each[0]), (*each[1],))):
        alike = [*group]
        if not are_waits or len(alike) < _ALIKE:
            yield from ([entry.job, entry.event, more] for entry, more in alike)
            continue
        jobs, events = ([getattr(it, name) for it, _ in alike] for name in ("job", "event"))
        fields = [more for _, more in alike]
        columns = {name: [each[name] for each in fields] for name in names}
        same = {name: values[0] for name, values in columns.items() if are_one_value(values)}
        others = {name: column_of(columns[name]) for name in names if name not in same}
        event = events[0] if are_one_value(events) else column_of(events)
        yield [column_of(jobs), event, same, others]


def _unusual(entry: LogEntry) -> dict[str, Any]:
    fields = zip(entry._fields[3:], entry[3:], strict=True)
    return {name: value for name, value in fields if not _is_usual(name, value)}


def _is_usual(name: str, value: Any) -> bool:
    return bool(value == _USUAL[name] or value != value)  # NaN is usual where it occurs.


def _entries(
    time_us: int,
    jobs: int | dict[str, Any],
    event: str | dict[str, Any],
    same: Mapping[str, Any],
    columns: Mapping[str, Any] | None = None,
) -> Iterator[LogEntry]:
    """The entry of a job, or those of many."""
    if isinstance(jobs, int):
        yield _entry(time_us, jobs, str(event), same)
        return
    numbers = values_of(jobs)
    events = [event] * len(numbers) if isinstance(event, str) else values_of(event)
    lists = {name: values_of(form) for name, form in (columns or {}).items()}
    for place, (job, each) in enumerate(zip(numbers, events, strict=True)):
        own = {name: values[place] for name, values in lists.items()}
        yield _entry(time_us, job, each, {**same, **own})


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
