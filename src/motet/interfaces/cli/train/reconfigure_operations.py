"""`operations` of a `--reconfigure` entry: add, delete, switch and move."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias, get_args

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import (
    Add,
    Delete,
    Move,
    Operation,
    Plan,
    Role,
    Switch,
    TableName,
)
from motet.interfaces.cli.train.reconfigure_entry import ReconfigureEntry
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_operation

_ROLES: tuple[Role, ...] = get_args(Role)
_TABLES: tuple[TableName, ...] = get_args(TableName)

OperationPlanner: TypeAlias = Callable[[JobLayout, Collection[int]], Plan]
"""Makes a change from a layout and the machines that may get a role; raises BadInput."""
_OperationMaker: TypeAlias = Callable[[JobLayout], Operation]


def planner_of_operations(entry: ReconfigureEntry) -> OperationPlanner:
    """A planner of the listed operations. Raises BadInput."""
    listed = entry.fields["operations"]
    if not isinstance(listed, list) or not listed:
        raise BadInput(f"{entry.place}: operations must be a list of add, delete, switch or move")
    items = entry.entries("operations")
    makers = [_operation_maker(item) for item in items]

    def make_plan(layout: JobLayout, machines: Collection[int]) -> Plan:
        operations = []
        for item, make in zip(items, makers, strict=True):
            try:
                operations.append(make(layout))
                layout = layout_after_operation(layout, operations[-1], machines)
            except BadInput as error:
                raise BadInput(f"{item.place}: {error}") from None
        return Plan.of(operations)

    return make_plan


def _operation_maker(entry: ReconfigureEntry) -> _OperationMaker:
    kinds = [kind for kind in ("add", "delete", "switch", "move") if entry.has(kind)]
    if len(kinds) != 1:
        raise BadInput(f"{entry.place}: an operation is one of add, delete, switch and move")
    if kinds[0] == "move":
        return _move_maker(entry)
    operation = _role_operation(entry, kinds[0])
    return lambda layout: operation


def _role_operation(entry: ReconfigureEntry, kind: str) -> Operation:
    entry.check_keys((kind, "role"))
    executor = entry.whole_number(kind)
    if kind == "delete" and not entry.has("role"):
        return Delete(executor)
    role = next(role for role in _ROLES if role == entry.choice("role", _ROLES))
    if kind == "add":
        return Add(executor, role)
    return Delete(executor, role) if kind == "delete" else Switch(executor, role)


def _move_maker(entry: ReconfigureEntry) -> _OperationMaker:
    """Listed blocks move as they are; a number of blocks is chosen from those that `from` has."""
    entry.check_keys(("move", "of", "from", "to"))
    table = next(table for table in _TABLES if table == entry.choice("of", _TABLES))
    source, destination = entry.whole_number("from"), entry.whole_number("to")
    wanted = entry.fields["move"]
    if isinstance(wanted, list):
        if not all(type(block) is int and block >= 0 for block in wanted):
            raise BadInput(f"{entry.place}: move lists {wanted!r}; give numbers of blocks")
        move = Move(table, tuple(wanted), source, destination)
        return lambda layout: move
    count = entry.whole_number("move", least=1)
    return lambda layout: _move_of_last(layout, table, count, source, destination)


def _move_of_last(
    layout: JobLayout, table: TableName, count: int, source: int, destination: int
) -> Move:
    owned = layout.owners(table).blocks_of(source)
    if count > len(owned):
        raise BadInput(f"executor {source} has {len(owned)} {table} block(s), {count} cannot move")
    return Move(table, tuple(owned[-count:]), source, destination)
