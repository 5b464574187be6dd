"""Writes `decisions.jsonl`, the decision log of a run: one JSON object per line.

Times are seconds on the trace's own clock, exact to the microsecond; jobs and machines are written
by name. Entries are written during the run: a log may be larger than memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Any, TextIO

from motet.domain.decision import Straggler
from motet.domain.log_entry import MEASURE, LogEntry, OtherJobs, is_wait
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US, exact_seconds

OTHERS_OF = {
    "wait": "blockers",
    "preempt": "taken_by",
    "start": "shares_with",
    "resume": "shares_with",
    "migrate": "shares_with",
    "resize": "shares_with",
    MEASURE: "shares_with",
}
"""Name of the field that lists other jobs, by event."""


class DecisionWriter:
    """Writes entries to a file as lines of JSON."""

    def __init__(self, file: TextIO, jobs: Sequence[str], machines: Sequence[str]) -> None:
        """`jobs`, `machines`: names by number."""
        self._file, self._jobs, self._machines = file, jobs, machines

    def __call__(self, entry: LogEntry) -> None:
        """Write one entry."""
        times = "".join(
            f', "{name}": {exact_seconds(time_us)}' for name, time_us in _times(entry).items()
        )
        rest = json.dumps(self._document(entry), ensure_ascii=False)
        self._file.write(f'{{"time": {exact_seconds(entry.time_us)}, {rest[1:-1]}{times}}}\n')

    def _document(self, entry: LogEntry) -> dict[str, Any]:
        waits = is_wait(entry)
        event = "wait" if waits else entry.event
        return {
            "job": self._jobs[entry.job],
            "event": event,
            **({"reason": entry.event} if waits else {}),
            "gpus": entry.gpus,
            **(_wait_fields(entry) if waits else {}),
            **self._where(entry.placement),
            **_teams(entry),
            **self._left(entry.left),
            **_group(entry),
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


def _wait_fields(entry: LogEntry) -> dict[str, Any]:
    place = {} if entry.position == UNKNOWN else {"place": entry.position + 1}
    is_compared = isfinite(entry.measure) and isfinite(entry.bar)
    measure = {"measure": entry.measure, "bar": entry.bar} if is_compared else {}
    return {
        **_known("least_gpus", entry.least_gpus),
        "free_gpus": entry.free_gpus,
        **_known("usable_gpus", entry.usable_gpus if entry.least_gpus != UNKNOWN else UNKNOWN),
        **place,
        **measure,
        **({"queue": entry.job_queue} if entry.job_queue else {}),
    }


def _known(name: str, count: int) -> dict[str, int]:
    return {} if count == UNKNOWN else {name: count}


def _teams(entry: LogEntry) -> dict[str, Any]:
    team, before = entry.team, entry.team_before
    now = {} if team is None else {"workers": team.workers, "servers": team.servers}
    return {**now, **({} if before is None else {"before": before._asdict()})}


def _group(entry: LogEntry) -> dict[str, Any]:
    forecast = {} if entry.forecast is None else {"group": entry.forecast._asdict()}
    measured = {} if entry.measured is None else {"measured": entry.measured._asdict()}
    return {**forecast, **measured, **({"on_disk": entry.on_disk} if entry.on_disk else {})}


def _exchange_role(entry: LogEntry) -> str | None:
    team, before = entry.team, entry.team_before
    return None if team is None or before is None else exchange_role(before.gpus, team.gpus)


def exchange_role(gpus_before: int, gpus: int) -> str:
    """Name of the field that lists the jobs which got or gave GPUs when a job was resized."""
    return "taken_by" if gpus < gpus_before else "given_by"


def _times(entry: LogEntry) -> dict[str, int]:
    if entry.event == "finish":
        return {"overhead": entry.overhead_us}
    return {} if entry.until_us == NEVER_US else {"until": entry.until_us}
