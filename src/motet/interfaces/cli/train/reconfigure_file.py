"""`--reconfigure FILE`: a YAML list of what changes when, see docs/reference/reconfigure.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, get_args

import yaml

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Plan, Role, Switch, TableName
from motet.domain.yaml_text import StrictLoader, read_yaml
from motet.runtime.elastic.even_plans import plan_for_counts
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan_effects import layout_after_operation, layout_after_plan
from motet.runtime.elastic.plan_queue import Timed

_LINE = "__line__"
_TIMES = ("at_epoch", "at_s")
_TABLES: tuple[TableName, ...] = get_args(TableName)
_ROLES: tuple[Role, ...] = get_args(Role)

Planner: TypeAlias = Callable[[Layout, Collection[int]], Plan]
"""From a layout and the machines that may be given a role; raises BadInput."""


@dataclass(frozen=True)
class _Entry:
    """A mapping of the file. `place`: where it stands, for errors."""

    place: str
    fields: Mapping[str, Any]

    def check_keys(self, known: Sequence[str]) -> None:
        for key in self.fields:
            if key not in known:
                raise BadInput(f"{self.place}: {key!r} means nothing here; use {', '.join(known)}")

    def has(self, name: str) -> bool:
        return name in self.fields

    def number(self, name: str, least: int = 0) -> int:
        value = self.fields.get(name)
        if type(value) is not int or value < least:
            raise BadInput(f"{self.place}: {name} is {value!r}; give a whole number from {least}")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        value = self.fields.get(name)
        if value not in choices:
            raise BadInput(f"{self.place}: {name} is {value!r}; use {' or '.join(choices)}")
        return str(value)


@dataclass(frozen=True)
class PlannedChange:
    """An entry of the file; `make_plan` is told the layout and the machines of its moment."""

    place: str
    make_plan: Planner
    at_epoch: int | None = None
    at_s: float | None = None
    predicted_gain: float | None = None

    def check(self, layout: Layout, machine_count: int) -> Layout:
        """The layout it leads to. Raises BadInput."""
        machines = range(machine_count)
        plan = self.make_plan(layout, machines)
        try:
            return layout_after_plan(layout, plan, machines)
        except BadInput as error:
            raise BadInput(f"{self.place}: {error}") from None

    def timed(self, machines: Callable[[], Collection[int]]) -> Timed:
        """For a job; `machines`: those that may be given a role when it is asked."""
        return Timed(
            lambda layout: self.make_plan(layout, machines()),
            self.at_epoch,
            self.at_s,
            self.predicted_gain,
        )


def read_plan_file(path: Path, machine_count: int, epochs: int) -> tuple[PlannedChange, ...]:
    """The file's entries. Raises BadInput, naming the line."""
    entries = _entries(path)
    changes = tuple(_change(entry, machine_count) for entry in entries)
    _check_times(entries, epochs)
    return changes


def check_changes(
    changes: Sequence[PlannedChange], layout: Layout, machine_count: int
) -> list[Layout]:
    """The layout after each entry. Raises BadInput for what cannot be done."""
    layouts = [layout]
    for change in changes:
        layouts.append(change.check(layouts[-1], machine_count))
    return layouts


def _entries(path: Path) -> list[_Entry]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"--reconfigure {path}: cannot be read ({reason})") from error
    content = read_yaml(text, str(path), loader=_Loader)
    if not isinstance(content, list) or not content:
        raise BadInput(
            f"--reconfigure {path}: must be a list of changes, for example "
            "'- {at_epoch: 3, workers: 3, servers: 1}'"
        )
    return [_entry(path, number, item) for number, item in enumerate(content, start=1)]


def _entry(path: Path, number: int, item: object) -> _Entry:
    if not isinstance(item, dict):
        raise BadInput(f"{path}: item {number} is {item!r}; write it as 'name: value' pairs")
    fields = {str(key): value for key, value in item.items() if key != _LINE}
    return _Entry(f"{path}:{item[_LINE]}", fields)


def _change(entry: _Entry, machine_count: int) -> PlannedChange:
    entry.check_keys((*_TIMES, "workers", "servers", "operations", "predicted_gain"))
    if sum(entry.has(name) for name in _TIMES) != 1:
        raise BadInput(f"{entry.place}: say when, by at_epoch or by at_s")
    gain = entry.fields.get("predicted_gain")
    if gain is not None and not _is_finite_number(gain):
        raise BadInput(f"{entry.place}: predicted_gain is {gain!r}; give a number such as 0.2")
    return PlannedChange(
        entry.place,
        _planner(entry, machine_count),
        at_epoch=entry.number("at_epoch") if entry.has("at_epoch") else None,
        at_s=_seconds(entry) if entry.has("at_s") else None,
        predicted_gain=gain,
    )


def _is_finite_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _seconds(entry: _Entry) -> float:
    value = entry.fields["at_s"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise BadInput(f"{entry.place}: at_s is {value!r}; give seconds from 0")
    return float(value)


def _planner(entry: _Entry, machine_count: int) -> Planner:
    by_count = entry.has("workers") or entry.has("servers")
    if by_count == entry.has("operations"):
        raise BadInput(f"{entry.place}: give either workers and servers, or operations")
    if not by_count:
        return _by_operations(entry)
    return _by_counts(entry, machine_count)


def _by_counts(entry: _Entry, machine_count: int) -> Planner:
    workers = entry.number("workers", 1) if entry.has("workers") else None
    servers = entry.number("servers", 1) if entry.has("servers") else None

    def require(available: int, remedy: str = "") -> None:
        for name, count in (("workers", workers), ("servers", servers)):
            if count is not None and count > available:
                raise BadInput(
                    f"{entry.place}: {name}: {count} need as many machines, the job has "
                    f"{available}{remedy}"
                )

    def make_plan(layout: Layout, machines: Collection[int]) -> Plan:
        require(len(machines))
        return plan_for_counts(layout, workers, servers, machines)

    require(machine_count, "; raise --machines")
    return make_plan


def _by_operations(entry: _Entry) -> Planner:
    listed = entry.fields["operations"]
    if not isinstance(listed, list) or not listed:
        raise BadInput(f"{entry.place}: operations must be a list of add, delete, switch or move")
    path = Path(entry.place.rpartition(":")[0])
    items = [_entry(path, number, item) for number, item in enumerate(listed, start=1)]
    readers = [_operation(item) for item in items]

    def make_plan(layout: Layout, machines: Collection[int]) -> Plan:
        operations = []
        for item, read in zip(items, readers, strict=True):
            try:
                operations.append(read(layout))
                layout = layout_after_operation(layout, operations[-1], machines)
            except BadInput as error:
                raise BadInput(f"{item.place}: {error}") from None
        return Plan.of(operations)

    return make_plan


def _operation(entry: _Entry) -> Callable[[Layout], Operation]:
    kinds = [kind for kind in ("add", "delete", "switch", "move") if entry.has(kind)]
    if len(kinds) != 1:
        raise BadInput(f"{entry.place}: an operation is one of add, delete, switch and move")
    if kinds[0] == "move":
        return _move(entry)
    made = _role_operation(entry, kinds[0])
    return lambda layout: made


def _role_operation(entry: _Entry, kind: str) -> Operation:
    entry.check_keys((kind, "role"))
    executor = entry.number(kind)
    if kind == "delete" and not entry.has("role"):
        return Delete(executor)
    role = next(role for role in _ROLES if role == entry.choice("role", _ROLES))
    if kind == "add":
        return Add(executor, role)
    return Delete(executor, role) if kind == "delete" else Switch(executor, role)


def _move(entry: _Entry) -> Callable[[Layout], Operation]:
    entry.check_keys(("move", "of", "from", "to"))
    table = next(table for table in _TABLES if table == entry.choice("of", _TABLES))
    source, destination = entry.number("from"), entry.number("to")
    wanted = entry.fields["move"]
    if isinstance(wanted, list):
        if not all(type(block) is int and block >= 0 for block in wanted):
            raise BadInput(f"{entry.place}: move lists {wanted!r}; give numbers of blocks")
        blocks = tuple(wanted)
        return lambda layout: Move(table, blocks, source, destination)
    count = entry.number("move", 1)

    def some(layout: Layout) -> Operation:
        owned = layout.owners(table).blocks_of(source)
        if count > len(owned):
            raise BadInput(
                f"executor {source} has {len(owned)} {table} block(s), {count} cannot move"
            )
        return Move(table, tuple(owned[-count:]), source, destination)

    return some


def _check_times(entries: Sequence[_Entry], epochs: int) -> None:
    kinds = {name for entry in entries for name in _TIMES if entry.has(name)}
    if len(kinds) > 1:
        raise BadInput(f"{entries[0].place}: use at_epoch or at_s for all of them, not both")
    name = kinds.pop()
    for earlier, entry in pairwise(entries):
        if entry.fields[name] < earlier.fields[name]:
            raise BadInput(f"{entry.place}: comes before the one above it; order them by {name}")
    last = entries[-1]
    if name == "at_epoch" and last.fields[name] >= epochs:
        raise BadInput(
            f"{last.place}: at_epoch is {last.fields[name]}, but training ends after {epochs} "
            "epoch(s); raise --epochs"
        )


class _Loader(StrictLoader):
    """Keeps the line of every mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As usual, and where it began."""
        return {**super().construct_mapping(node, deep), _LINE: node.start_mark.line + 1}
