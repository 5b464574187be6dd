"""Machines that join, drain and leave during a simulation: `--machine-events FILE`.

A CSV file; machines by their names in the cluster, seconds on the trace's own clock::

    time,machine,event
    3600,m3,drains
    7200,m3,leaves
    90000,m3,comes

A draining machine accepts no new jobs, and its jobs continue; when it leaves, they lose their GPUs
and wait again with their progress. A machine whose first event is `comes` is absent before that.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, UnknownName
from motet.domain.events import Drained, Event, MachineCame, MachineLeft
from motet.domain.units import exact_seconds, microseconds
from motet.sim.event_csv import PlacedRow, read_rows
from motet.sim.workload.interventions import TimedEvent

COLUMNS = ("time", "machine", "event")
OPTION = "--machine-events "
COMES, DRAINS, LEAVES = "comes", "drains", "leaves"
_EVENTS: Mapping[str, type[MachineCame] | type[Drained] | type[MachineLeft]] = {
    COMES: MachineCame,
    DRAINS: Drained,
    LEAVES: MachineLeft,
}
_MAY_FOLLOW = {COMES: (DRAINS, LEAVES), DRAINS: (COMES, LEAVES), LEAVES: (COMES,)}


class _MachineEvent(NamedTuple):
    time_us: int
    machine: int
    event: str
    place: str


def read_machine_events(path: Path, cluster: ClusterSpec) -> list[TimedEvent]:
    """Events ordered by time, then by position in the file. Raises BadInput, UnknownName."""
    numbers = {name: number for number, name in enumerate(cluster.names)}
    found = [_machine_event(row, numbers) for row in read_rows(OPTION, path, COLUMNS)]
    found.sort(key=lambda each: each.time_us)
    absent = _check_order(found, cluster)
    first_us = found[0].time_us if found else 0
    events: list[TimedEvent] = [(min(first_us, 0), MachineLeft(machine)) for machine in absent]
    return events + [(each.time_us, _event_of(each)) for each in found]


def _event_of(found: _MachineEvent) -> Event:
    return _EVENTS[found.event](found.machine)


def _machine_event(row: PlacedRow, numbers: Mapping[str, int]) -> _MachineEvent:
    place, cells = row
    if cells["machine"] not in numbers:
        raise BadInput(
            f"{place}: the cluster has no machine {cells['machine']!r}; the first of its "
            f"{len(numbers)} is called {next(iter(numbers))!r}"
        )
    if cells["event"] not in _EVENTS:
        raise UnknownName(f"event at {place}:", cells["event"], _EVENTS)
    try:
        time_us = microseconds(cells["time"])
    except BadInput as error:
        raise BadInput(f"{place}: {error}") from None
    if time_us < 0:
        raise BadInput(f"{place}: at {cells['time']} s; a trace's clock starts at 0")
    return _MachineEvent(time_us, numbers[cells["machine"]], cells["event"], place)


def _check_order(found: list[_MachineEvent], cluster: ClusterSpec) -> list[int]:
    """Initially absent machines, ascending. Raises BadInput for an invalid sequence of events."""
    last: dict[int, _MachineEvent] = {}
    absent: set[int] = set()
    for each in found:
        before = last.get(each.machine)
        if before is None and each.event == COMES:
            absent.add(each.machine)
        elif before is not None and each.event not in _MAY_FOLLOW[before.event]:
            raise BadInput(
                f"{each.place}: {cluster.names[each.machine]} {each.event}, but at "
                f"{exact_seconds(before.time_us)} s it {before.event} already ({before.place}); "
                f"after that it {' or '.join(_MAY_FOLLOW[before.event])}"
            )
        last[each.machine] = each
    return sorted(absent)
