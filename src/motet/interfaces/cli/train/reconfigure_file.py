"""`--reconfigure FILE`: a YAML list of timed changes, see docs/reference/reconfigure.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Plan
from motet.interfaces.cli.train.reconfigure_entry import ReconfigureEntry, read_entries
from motet.interfaces.cli.train.reconfigure_operations import (
    OperationPlanner,
    planner_of_operations,
)
from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.elastic.even_plans import plan_for_counts
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_plan

_TIMES = ("at_epoch", "at_s")


@dataclass(frozen=True)
class PlannedChange:
    """An entry of the file; `make_plan` gets the layout and the machines of its time."""

    place: str
    make_plan: OperationPlanner
    at_epoch: int | None = None
    at_s: float | None = None
    predicted_gain: float | None = None

    def check(self, layout: JobLayout, machine_count: int) -> JobLayout:
        """The layout that the change leads to. Raises BadInput."""
        machines = range(machine_count)
        plan = self.make_plan(layout, machines)
        try:
            return layout_after_plan(layout, plan, machines)
        except BadInput as error:
            raise BadInput(f"{self.place}: {error}") from None

    def timed(self, machines: Callable[[], Collection[int]]) -> TimedPlan:
        """The change for a job; `machines`: those that may be given a role when it begins."""
        return TimedPlan(
            lambda layout: self.make_plan(layout, machines()),
            self.at_epoch,
            self.at_s,
            self.predicted_gain,
        )


def read_plan_file(path: Path, machine_count: int, epochs: int) -> tuple[PlannedChange, ...]:
    """The file's entries. Raises BadInput, naming the line."""
    entries = read_entries(path)
    changes = tuple(_change(entry, machine_count) for entry in entries)
    _check_times(entries, epochs)
    return changes


def check_changes(
    changes: Sequence[PlannedChange], layout: JobLayout, machine_count: int
) -> list[JobLayout]:
    """The first layout and the one after each entry. Raises BadInput for impossible changes."""
    layouts = [layout]
    for change in changes:
        layouts.append(change.check(layouts[-1], machine_count))
    return layouts


def _change(entry: ReconfigureEntry, machine_count: int) -> PlannedChange:
    entry.check_keys((*_TIMES, "workers", "servers", "operations", "predicted_gain"))
    if sum(entry.has(name) for name in _TIMES) != 1:
        raise BadInput(f"{entry.place}: give the time, at_epoch or at_s")
    gain = entry.optional_number("predicted_gain", example="0.2")
    return PlannedChange(
        entry.place,
        _planner(entry, machine_count),
        at_epoch=entry.whole_number("at_epoch") if entry.has("at_epoch") else None,
        at_s=entry.seconds("at_s") if entry.has("at_s") else None,
        predicted_gain=gain,
    )


def _planner(entry: ReconfigureEntry, machine_count: int) -> OperationPlanner:
    has_counts = entry.has("workers") or entry.has("servers")
    if has_counts == entry.has("operations"):
        raise BadInput(f"{entry.place}: give either workers and servers, or operations")
    if has_counts:
        return _planner_of_counts(entry, machine_count)
    return planner_of_operations(entry)


def _planner_of_counts(entry: ReconfigureEntry, machine_count: int) -> OperationPlanner:
    workers = entry.whole_number("workers", 1) if entry.has("workers") else None
    servers = entry.whole_number("servers", 1) if entry.has("servers") else None

    def require(available: int, remedy: str = "") -> None:
        for name, count in (("workers", workers), ("servers", servers)):
            if count is not None and count > available:
                raise BadInput(
                    f"{entry.place}: {name}: {count} need as many machines, the job has "
                    f"{available}{remedy}"
                )

    def make_plan(layout: JobLayout, machines: Collection[int]) -> Plan:
        require(len(machines))
        return plan_for_counts(layout, workers, servers, machines)

    require(machine_count, "; raise --machines")
    return make_plan


def _check_times(entries: Sequence[ReconfigureEntry], epochs: int) -> None:
    used = {name for entry in entries for name in _TIMES if entry.has(name)}
    if len(used) > 1:
        raise BadInput(f"{entries[0].place}: use at_epoch or at_s for all of them, not both")
    name = used.pop()
    for earlier, entry in pairwise(entries):
        if entry.fields[name] < earlier.fields[name]:
            raise BadInput(f"{entry.place}: comes before the one above it; order them by {name}")
    last = entries[-1]
    if name == "at_epoch" and last.fields[name] >= epochs:
        raise BadInput(
            f"{last.place}: at_epoch is {last.fields[name]}, but training ends after {epochs} "
            "epoch(s); raise --epochs"
        )
