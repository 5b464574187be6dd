"""Who takes over from executors whose machines are gone or will be. Pure.

A spare machine (up, without a role) takes all of a leaver's place, one of the same kind if there
is one. Without a spare the others share what the leaver had.
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.domain.errors import JobFailed
from motet.domain.reconfiguration import Add, Delete, Move, Plan, Role, TableName
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import Layout

_ROLES: tuple[Role, ...] = ("worker", "server")


def usable(machines: Sequence[Machine]) -> list[int]:
    """Machines that an executor can be started on."""
    return [machine.number for machine in machines if machine.condition == "up"]


def leavers(layout: Layout, machines: Sequence[Machine]) -> list[int]:
    """Executors whose machines are gone or leaving."""
    up = set(usable(machines))
    return [executor for executor in layout.executors if executor not in up]


def successors(layout: Layout, machines: Sequence[Machine]) -> dict[int, int]:
    """The spare machine that takes a leaver's place, for as many as there are spares."""
    spares = [number for number in usable(machines) if number not in layout.executors]
    found: dict[int, int] = {}
    for leaver in leavers(layout, machines):
        if spares:
            kind = machines[leaver].kind
            found[leaver] = min(spares, key=lambda spare: (machines[spare].kind != kind, spare))
            spares.remove(found[leaver])
    return found


def resettled(layout: Layout, machines: Sequence[Machine]) -> Layout:
    """The layout on machines that are up. Raises JobFailed: no machine is left."""
    for leaver, spare in successors(layout, machines).items():
        layout = layout.handed_over(leaver, spare)
    leaving = leavers(layout, machines)
    if leaving and len(leaving) == len(layout.executors):
        raise JobFailed(
            "no machine is left to go on with; add machines, then continue from the last "
            "checkpoint with --resume (if there was --out)"
        )
    for role in _ROLES:
        if set(layout.holders(role)) <= set(leaving):
            layout = layout.with_role(_heir(layout, role, leaving), role)
    return layout.abandoned_by(leaving).repaired()


def vacating(layout: Layout, machines: Sequence[Machine]) -> Plan:
    """A plan that leads from machines that are gone or leaving to the others.

    Every block moves at most once. Raises JobFailed: no machine is left.
    """
    target = resettled(layout, machines)
    adds = [
        Add(executor, role)
        for role in _ROLES
        for executor in target.holders(role)
        if executor not in layout.holders(role)
    ]
    moves = [*_moves("model", layout, target), *_moves("data", layout, target)]
    deletes = [Delete(executor) for executor in leavers(layout, machines)]
    return Plan.of([*adds, *moves, *deletes])


def _heir(layout: Layout, role: Role, leaving: Sequence[int]) -> int:
    """Who of those that stay takes on a role: who has least to do, workers the first ones."""
    staying = [executor for executor in layout.executors if executor not in leaving]
    if role == "server":
        staying.reverse()
    return min(staying, key=lambda executor: len(layout.roles_of(executor)))


def _moves(table: TableName, before: Layout, after: Layout) -> list[Move]:
    by_pair: dict[tuple[int, int], list[int]] = {}
    owners = zip(before.owners(table).owners, after.owners(table).owners, strict=True)
    for block, (source, destination) in enumerate(owners):
        if source != destination:
            by_pair.setdefault((int(source), int(destination)), []).append(block)
    return [Move(table, tuple(blocks), *pair) for pair, blocks in sorted(by_pair.items())]
