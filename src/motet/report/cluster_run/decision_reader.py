"""Reads `decisions.jsonl`: the events of one job, and the GPUs that jobs held in a time span."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from motet.domain.decision import GroupForecast, GroupMeasurement
from motet.domain.errors import BadInput
from motet.domain.log_entry import MEASURE
from motet.domain.units import microseconds
from motet.domain.wait import wait_named
from motet.insight.holders.meanwhile import HeldGpus
from motet.insight.story_event import OtherJob, StoryEvent, TeamSize
from motet.report.cluster_run.decision_writer import OTHERS_OF, exchange_role

T = TypeVar("T")
_WAIT_LINE = '"event": "wait", "reason": '
_BEGINS = ("start", "resume", "migrate", "resize")
_KEEPS_GPUS = ("promote", "demote", "unsuspend", MEASURE)
_LOSES_GPUS = ("evict", "suspend", "cancel", "fail", "finish")
_DAMAGES = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
_EVENTS = {*OTHERS_OF, *_KEEPS_GPUS, *_LOSES_GPUS}


def story_events_of(path: Path, job: str) -> list[StoryEvent]:
    """The events of one job, in order. Raises BadInput for a damaged line of that job."""
    return [
        _checked(path, number, lambda document=document: _story_event(document))  # type: ignore[misc]
        for number, document in _documents(path, job)
    ]


def held_gpus_during(path: Path, from_us: int, to_us: int | None) -> Iterator[HeldGpus]:
    """Holds of GPUs that overlap a time span (`to_us` None: to the end of the log).

    Raises BadInput for a damaged file.
    """
    held: dict[str, HeldGpus] = {}
    for number, line in _numbered_lines(path):
        if _WAIT_LINE in line:
            continue
        event, new = _checked(path, number, lambda line=line: _brief(line))  # type: ignore[misc]
        if to_us is not None and new.from_us >= to_us:
            break
        if event in _KEEPS_GPUS:
            continue
        if new.job in held:
            before = held.pop(new.job)
            if new.from_us > from_us:
                yield before._replace(to_us=new.from_us)
        if event in _BEGINS:
            held[new.job] = new
    yield from held.values()


def _brief(line: str) -> tuple[str, HeldGpus]:
    """The event, and what the job holds from then on if it is a beginning."""
    document = _parsed(line)
    time_us, gpus = microseconds(document["time"]), document["gpus"]
    if type(gpus) is not int:
        raise ValueError(f"gpus is {gpus!r:.40}")
    event = str(document["event"])
    is_shared = event in _BEGINS and OTHERS_OF[event] in document
    return event, HeldGpus(str(document["job"]), gpus, time_us, None, is_shared=is_shared)


def _documents(path: Path, job: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The lines of a job with their numbers. Only lines that contain its name are parsed."""
    needle = f'"job": {json.dumps(job, ensure_ascii=False)}, "event": '
    for number, line in _numbered_lines(path):
        if needle in line:
            yield number, _checked(path, number, lambda line=line: _parsed(line))  # type: ignore[misc]


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as lines:
            yield from enumerate(lines, 1)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text; simulate again") from error


def _parsed(line: str) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(line, parse_float=str)
    return document


def _checked(path: Path, number: int, read: Callable[[], T]) -> T:
    try:
        return read()
    except _DAMAGES as error:
        raise BadInput(
            f"{path}:{number}: no entry of a decision log ({error}); simulate again"
        ) from error


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _story_event(document: Mapping[str, Any]) -> StoryEvent:
    event, until = document["event"], document.get("until")
    if event not in _EVENTS:
        raise ValueError(f"unknown event {event!r}")
    reason = wait_named(document["reason"]).key if event == "wait" else ""
    team, before = _team(document, document["gpus"]), _team_before(document)
    others, total = _others_of(document, OTHERS_OF.get(event))
    role = exchange_role(before.gpus, team.gpus) if team and before else None
    exchange, exchange_total = _others_of(document, role)
    return StoryEvent(
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
        job_queue=document.get("queue", ""),
        forecast=_forecast(document.get("group")),
        measured=_measured(document.get("measured")),
        on_disk=float(document.get("on_disk", 0.0)),
        asynchronous=bool(document.get("asynchronous", False)),
        stays=bool(document.get("stays", False)),
    )


def _others_of(document: Mapping[str, Any], role: str | None) -> tuple[tuple[OtherJob, ...], int]:
    if role is None:
        return (), 0
    named = tuple(OtherJob(each["job"], each["gpus"]) for each in document.get(role, ()))
    return named, document.get(f"{role}_total", 0)


def _forecast(group: Mapping[str, Any] | None) -> GroupForecast | None:
    if group is None:
        return None
    times = (float(group[name]) for name in ("iteration_s", "in_turn_s", "cpu", "network"))
    iteration_s, in_turn_s, cpu, network = times
    return GroupForecast(iteration_s, in_turn_s, cpu, network, int(group["jobs"]))


def _measured(group: Mapping[str, Any] | None) -> GroupMeasurement | None:
    if group is None:
        return None
    values = {
        name: int(group[name]) if name == "jobs" else float(group[name])
        for name in GroupMeasurement._fields
    }
    is_measured = bool(group["is_alone_measured"])
    return GroupMeasurement(**{**values, "is_alone_measured": is_measured})  # type: ignore[arg-type]


def _team(document: Mapping[str, Any], gpus: int) -> TeamSize | None:
    return (
        TeamSize(document["workers"], document["servers"], gpus) if "workers" in document else None
    )


def _team_before(document: Mapping[str, Any]) -> TeamSize | None:
    before = document.get("before")
    return None if before is None else _team(before, before["gpus"])
