"""Writes `decisions.jsonl`, the decision log of a run: one JSON object per line.

Times are seconds on the trace's own clock, exact to the microsecond; jobs and machines are written
by name. Entries are written during the run: a log may be larger than memory. Their text is joined
directly, as the JSON encoder takes several times as long; it encodes names and what is rare.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from json.encoder import encode_basestring
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


_PLACES = 4096
"""Whose text is kept: most placements have two entries or more, the last one when a job ends."""
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_TOGETHER = 128
"""Entries that `in_batches` writes at a time. A small batch holds fewer objects than the threshold
of Python's garbage collector, which would otherwise scan live objects in vain."""


class DecisionWriter:
    """Writes entries to a file as lines of JSON."""

    def __init__(self, file: TextIO, jobs: Sequence[str], machines: Sequence[str]) -> None:
        """`jobs`, `machines`: names by number."""
        self._write, self._jobs, self._machines = file.write, jobs, machines
        self._encoded = [encode_basestring(name) for name in machines]
        self._time = 0, "0"
        self._where = lru_cache(_PLACES)(self._places)
        self._named: tuple[tuple[tuple[int, int], ...], str] = (), ""

    def __call__(self, entry: LogEntry) -> None:
        """Write one entry."""
        job, waits = encode_basestring(self._jobs[entry.job]), is_wait(entry)
        event = "wait" if waits else entry.event
        others = self._others(OTHERS_OF.get(event), entry.others) if entry.others.total else ""
        if entry.exchange.total:
            others += self._others(_exchange_role(entry), entry.exchange)
        queue = "" if entry.queue == UNKNOWN else f', "priority_queue": {entry.queue + 1}'
        self._write(
            f'{{"time": {self._seconds(entry.time_us)}, "job": {job}, "event": "{event}"'
            f"{_wait_fields(entry) if waits else self._state_fields(entry)}"
            f"{others}{queue}{_times(entry)}}}\n"
        )

    def _seconds(self, time_us: int) -> str:
        """Many entries have the same time."""
        if self._time[0] != time_us:
            self._time = time_us, exact_seconds(time_us)
        return self._time[1]

    def _state_fields(self, entry: LogEntry) -> str:
        text = f', "gpus": {entry.gpus}{self._where(entry.placement)}'
        if not _has_more(entry):
            return text
        return text + _encoded({**_teams(entry), **self._left(entry.left), **_group(entry)})

    def _places(self, placement: Placement) -> str:
        if not placement.machines:
            return ""
        counts = zip(placement.machines, placement.counts, strict=True)
        machines = ", ".join(f"{self._encoded[machine]}: {count}" for machine, count in counts)
        return f', "machines": {{{machines}}}'

    def _left(self, slow: Straggler | None) -> dict[str, Any]:
        if slow is None:
            return {}
        return {"left": self._machines[slow.machine], "times_as_long": slow.times_as_long}

    def _others(self, role: str | None, others: OtherJobs) -> str:
        if role is None:
            return ""
        if self._named[0] != others.first:  # Waits often name the same jobs.
            self._named = others.first, ", ".join(map(self._other, others.first))
        return f', "{role}": [{self._named[1]}], "{role}_total": {others.total}'

    def _other(self, other: tuple[int, int]) -> str:
        job, gpus = other
        return f'{{"job": {encode_basestring(self._jobs[job])}, "gpus": {gpus}}}'


@contextmanager
def in_batches(write: Callable[[LogEntry], object]) -> Iterator[Callable[[LogEntry], None]]:
    """A function that keeps entries and has them written many at a time, the last ones at the end.

    One at a time takes twice as long: between two decisions the processor's caches lose the code
    that writes them.
    """
    kept: list[LogEntry] = []

    def flush() -> None:
        entries = [*kept]
        kept.clear()  # If writing fails, none is written again.
        for entry in entries:
            write(entry)

    def keep(entry: LogEntry) -> None:
        kept.append(entry)
        if len(kept) == _TOGETHER:
            flush()

    try:
        yield keep
    finally:
        flush()


def _encoded(fields: dict[str, Any]) -> str:
    """These after others."""
    return f", {_ENCODER.encode(fields)[1:-1]}" if fields else ""


def _wait_fields(entry: LogEntry) -> str:
    is_elastic, has_measure = entry.least_gpus != UNKNOWN, isfinite(entry.measure)
    fields = [f', "reason": "{entry.event}", "gpus": {entry.gpus}']
    if is_elastic:
        fields.append(f', "least_gpus": {entry.least_gpus}')
    fields.append(f', "free_gpus": {entry.free_gpus}')
    if is_elastic and entry.usable_gpus != UNKNOWN:
        fields.append(f', "usable_gpus": {entry.usable_gpus}')
    if entry.position != UNKNOWN:
        fields.append(f', "place": {entry.position + 1}')
    if has_measure and isfinite(entry.bar):
        fields.append(_encoded({"measure": entry.measure, "bar": entry.bar}))
    if entry.job_queue:
        fields.append(f', "queue": {encode_basestring(entry.job_queue)}')
    return "".join(fields)


def _has_more(entry: LogEntry) -> bool:
    """Whether it has more than GPUs and their machines."""
    of_job = entry.team or entry.team_before or entry.left or entry.asynchronous or entry.stays
    return bool(of_job or entry.forecast or entry.measured or entry.on_disk)


def _teams(entry: LogEntry) -> dict[str, Any]:
    team, before = entry.team, entry.team_before
    now = {} if team is None else {"workers": team.workers, "servers": team.servers}
    return {**now, **({} if before is None else {"before": before._asdict()})}


def _group(entry: LogEntry) -> dict[str, Any]:
    forecast = {} if entry.forecast is None else {"group": entry.forecast._asdict()}
    measured = {} if entry.measured is None else {"measured": entry.measured._asdict()}
    on_disk = {"on_disk": entry.on_disk} if entry.on_disk else {}
    return {
        **forecast,
        **measured,
        **on_disk,
        **({"asynchronous": True} if entry.asynchronous else {}),
        **({"stays": True} if entry.stays else {}),
    }


def _exchange_role(entry: LogEntry) -> str | None:
    team, before = entry.team, entry.team_before
    return None if team is None or before is None else exchange_role(before.gpus, team.gpus)


def exchange_role(gpus_before: int, gpus: int) -> str:
    """Name of the field that lists the jobs which got or gave GPUs when a job was resized."""
    return "taken_by" if gpus < gpus_before else "given_by"


def _times(entry: LogEntry) -> str:
    if entry.event == "finish":
        return f', "overhead": {exact_seconds(entry.overhead_us)}'
    return "" if entry.until_us == NEVER_US else f', "until": {exact_seconds(entry.until_us)}'
