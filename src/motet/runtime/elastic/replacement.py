"""Replacement of executors whose machines are gone or leaving. Pure.

A spare machine (up, without a role) gets all roles and blocks of a leaving executor; one of the
same kind is preferred. Without a spare the other executors share them.
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.domain.errors import JobFailed
from motet.domain.reconfiguration import Add, Delete, Move, Plan, Role, TableName
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import JobLayout

_ROLES: tuple[Role, ...] = ("worker", "server")


def usable_machines(machines: Sequence[Machine]) -> list[int]:
    """Machines that can start an executor."""
    return [machine.number for machine in machines if machine.condition == "up"]


def leaving_executors(layout: JobLayout, machines: Sequence[Machine]) -> list[int]:
    """Executors whose machines are gone or leaving."""
    up = set(usable_machines(machines))
    return [executor for executor in layout.executors if executor not in up]


def replacements(layout: JobLayout, machines: Sequence[Machine]) -> dict[int, int]:
    """The spare machine for every leaving executor, as far as there are spares."""
    spares = [number for number in usable_machines(machines) if number not in layout.executors]
    found: dict[int, int] = {}
    for executor in leaving_executors(layout, machines):
        if spares:
            kind = machines[executor].kind
            found[executor] = min(spares, key=lambda spare: (machines[spare].kind != kind, spare))
            spares.remove(found[executor])
    return found


def layout_on_up_machines(layout: JobLayout, machines: Sequence[Machine]) -> JobLayout:
    """The layout on machines that are up. Raises JobFailed: no machine is left."""
    for executor, spare in replacements(layout, machines).items():
        layout = layout.replaced(executor, spare)
    leaving = leaving_executors(layout, machines)
    if leaving and len(leaving) == len(layout.executors):
        raise JobFailed(
            "no machine is left to go on with; add machines, then continue from the last "
            "checkpoint with --resume (if there was --out)"
        )
    for role in _ROLES:
        if set(layout.holders(role)) <= set(leaving):
            layout = layout.with_role(_new_holder(layout, role, leaving), role)
    return layout.abandoned_by(leaving).repaired()


def evacuation_plan(layout: JobLayout, machines: Sequence[Machine]) -> Plan:
    """A plan that leads away from machines that are gone or leaving.

    Every block moves at most once. Raises JobFailed: no machine is left.
    """
    target = layout_on_up_machines(layout, machines)
    adds = [
        Add(executor, role)
        for role in _ROLES
        for executor in target.holders(role)
        if executor not in layout.holders(role)
    ]
    moves = [*_moves("model", layout, target), *_moves("data", layout, target)]
    deletes = [Delete(executor) for executor in leaving_executors(layout, machines)]
    return Plan.of([*adds, *moves, *deletes])


def _new_holder(layout: JobLayout, role: Role, leaving: Sequence[int]) -> int:
    """The remaining executor with fewest roles; the first one as worker, the last one as server."""
    staying = [executor for executor in layout.executors if executor not in leaving]
    if role == "server":
        staying.reverse()
    return min(staying, key=lambda executor: len(layout.roles_of(executor)))


def _moves(table: TableName, before: JobLayout, after: JobLayout) -> list[Move]:
    by_pair: dict[tuple[int, int], list[int]] = {}
    owners = zip(before.owners(table).owners, after.owners(table).owners, strict=True)
    for block, (source, destination) in enumerate(owners):
        if source != destination:
            by_pair.setdefault((int(source), int(destination)), []).append(block)
    return [Move(table, tuple(blocks), *pair) for pair, blocks in sorted(by_pair.items())]
