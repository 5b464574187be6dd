"""`decisions.jsonl`: the decision log of a run as a file, an entry per line.

Times are seconds on the trace's own clock, exact to the microsecond; jobs and machines have their
names. Written while the run goes on: it may be larger than memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TextIO, TypeVar

from motet.domain.decision import Straggler
from motet.domain.errors import BadInput
from motet.domain.log_entry import LogEntry, OtherJobs
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US, exact_seconds, microseconds
from motet.domain.wait import WAITS, wait_named
from motet.insight.meanwhile import Holding
from motet.insight.story_event import Happening, OtherJob, Team

T = TypeVar("T")
_REASONS = {wait.key for wait in WAITS}
OTHERS_OF = {
    "wait": "blockers",
    "preempt": "taken_by",
    "start": "shares_with",
    "resume": "shares_with",
    "migrate": "shares_with",
    "resize": "shares_with",
}
_WAIT_LINE = '"event": "wait", "reason": '
_BEGINS = ("start", "resume", "migrate", "resize")
_KEEPS = ("promote", "demote", "unsuspend")
_LOSES = ("evict", "suspend", "cancel", "fail", "finish")
_EVENTS = {*OTHERS_OF, *_KEEPS, *_LOSES}


class DecisionWriter:
    """Writes entries to a file as lines of JSON."""

    def __init__(self, file: TextIO, jobs: Sequence[str], machines: Sequence[str]) -> None:
        """`jobs`, `machines`: their names, by number."""
        self._file, self._jobs, self._machines = file, jobs, machines

    def __call__(self, entry: LogEntry) -> None:
        """One more entry."""
        times = "".join(
            f', "{name}": {exact_seconds(time_us)}' for name, time_us in _times(entry).items()
        )
        rest = json.dumps(self._document(entry), ensure_ascii=False)
        self._file.write(f'{{"time": {exact_seconds(entry.time_us)}, {rest[1:-1]}{times}}}\n')

    def _document(self, entry: LogEntry) -> dict[str, Any]:
        is_wait = entry.event in _REASONS
        event = "wait" if is_wait else entry.event
        return {
            "job": self._jobs[entry.job],
            "event": event,
            **({"reason": entry.event} if is_wait else {}),
            "gpus": entry.gpus,
            **(_turn(entry) if is_wait else {}),
            **self._where(entry.placement),
            **_teams(entry),
            **self._left(entry.left),
            **self._others(OTHERS_OF.get(event), entry.others),
            **self._others(_exchange_role(entry), entry.exchange),
            **({} if entry.queue == UNKNOWN else {"priority_queue": entry.queue + 1}),
        }

    def _where(self, placement: Placement) -> dict[str, Any]:
        if not placement.machines:
            return {}
        names = (self._machines[machine] for machine in placement.machines)
        return {"machines": dict(zip(names, placement.counts, strict=True))}

    def _left(self, slow: Straggler | None) -> dict[str, Any]:
        if slow is None:
            return {}
        return {"left": self._machines[slow.machine], "times_as_long": slow.times_as_long}

    def _others(self, role: str | None, others: OtherJobs) -> dict[str, Any]:
        if role is None or not others.total:
            return {}
        named = [{"job": self._jobs[job], "gpus": gpus} for job, gpus in others.first]
        return {role: named, f"{role}_total": others.total}


def _turn(entry: LogEntry) -> dict[str, Any]:
    place = {} if entry.position == UNKNOWN else {"place": entry.position + 1}
    is_compared = isfinite(entry.measure) and isfinite(entry.bar)
    measure = {"measure": entry.measure, "bar": entry.bar} if is_compared else {}
    return {
        **_known("least_gpus", entry.least_gpus),
        "free_gpus": entry.free_gpus,
        **_known("usable_gpus", entry.usable_gpus if entry.least_gpus != UNKNOWN else UNKNOWN),
        **place,
        **measure,
    }


def _known(name: str, count: int) -> dict[str, int]:
    return {} if count == UNKNOWN else {name: count}


def _teams(entry: LogEntry) -> dict[str, Any]:
    team, before = entry.team, entry.team_before
    now = {} if team is None else {"workers": team.workers, "servers": team.servers}
    return {**now, **({} if before is None else {"before": before._asdict()})}


def _exchange_role(entry: LogEntry) -> str | None:
    team, before = entry.team, entry.team_before
    return None if team is None or before is None else exchange_role(before.gpus, team.gpus)


def exchange_role(gpus_before: int, gpus: int) -> str:
    """What others are to a job that is resized."""
    return "taken_by" if gpus < gpus_before else "given_by"


def _times(entry: LogEntry) -> dict[str, int]:
    if entry.event == "finish":
        return {"overhead": entry.overhead_us}
    return {} if entry.until_us == NEVER_US else {"until": entry.until_us}


# -- reading ---------------------------------------------------------------------------------------


def happenings_of(path: Path, job: str) -> list[Happening]:
    """What happened to one job. Raises BadInput for a file that is damaged there."""
    return [
        _checked(path, number, lambda document=document: _happening(document))  # type: ignore[misc]
        for number, document in _documents(path, job)
    ]


def holdings_of(path: Path, from_us: int, to_us: int | None) -> Iterator[Holding]:
    """Who held GPUs when, as far as it touches this time. Raises BadInput for a damaged file."""
    held: dict[str, tuple[int, int]] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if _WAIT_LINE in line:
                continue
            time_us, job, event, gpus = _checked(path, number, lambda line=line: _brief(line))  # type: ignore[misc]
            if to_us is not None and time_us >= to_us:
                break
            if event in _KEEPS:
                continue
            if job in held:
                gpus_before, since_us = held.pop(job)
                if time_us > from_us:
                    yield Holding(job, gpus_before, since_us, time_us)
            if event in _BEGINS:
                held[job] = (gpus, time_us)
    for job, (gpus, since_us) in held.items():
        yield Holding(job, gpus, since_us, None)


def _brief(line: str) -> tuple[int, str, str, int]:
    document = _parsed(line)
    return microseconds(document["time"]), document["job"], document["event"], document["gpus"]


def _documents(path: Path, job: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The job's lines with their numbers; only what may name it is parsed."""
    needle = f'"job": {json.dumps(job, ensure_ascii=False)}, "event": '
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if needle in line:
                yield number, _checked(path, number, lambda line=line: _parsed(line))  # type: ignore[misc]


def _parsed(line: str) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(line, parse_float=str)
    return document


def _checked(path: Path, number: int, read: Callable[[], T]) -> T:
    try:
        return read()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path}:{number}: no entry of a decision log ({error}); simulate again"
        ) from error


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _happening(document: Mapping[str, Any]) -> Happening:
    event, until = document["event"], document.get("until")
    if event not in _EVENTS:
        raise ValueError(f"unknown event {event!r}")
    reason = wait_named(document["reason"]).key if event == "wait" else ""
    team, before = _team(document, document["gpus"]), _team_before(document)
    others, total = _others_of(document, OTHERS_OF.get(event))
    role = exchange_role(before.gpus, team.gpus) if team and before else None
    exchange, exchange_total = _others_of(document, role)
    return Happening(
        time_us=microseconds(document["time"]),
        event=event,
        reason=reason,
        gpus=document["gpus"],
        free_gpus=document.get("free_gpus"),
        place=document.get("place"),
        machines=document.get("machines", {}),
        others=others,
        others_total=total,
        queue=document.get("priority_queue"),
        until_us=None if until is None else microseconds(until),
        overhead_us=microseconds(document.get("overhead", 0)),
        measure=_number(document.get("measure")),
        bar=_number(document.get("bar")),
        left=document.get("left"),
        times_as_long=_number(document.get("times_as_long")),
        least_gpus=document.get("least_gpus"),
        usable_gpus=document.get("usable_gpus"),
        team=team,
        team_before=before,
        exchange=exchange,
        exchange_total=exchange_total,
    )


def _others_of(document: Mapping[str, Any], role: str | None) -> tuple[tuple[OtherJob, ...], int]:
    if role is None:
        return (), 0
    named = tuple(OtherJob(each["job"], each["gpus"]) for each in document.get(role, ()))
    return named, document.get(f"{role}_total", 0)


def _team(document: Mapping[str, Any], gpus: int) -> Team | None:
    return Team(document["workers"], document["servers"], gpus) if "workers" in document else None


def _team_before(document: Mapping[str, Any]) -> Team | None:
    before = document.get("before")
    return None if before is None else _team(before, before["gpus"])
