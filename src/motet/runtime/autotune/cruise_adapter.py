"""Between Cruise, which names machines, and the runtime, which numbers executors. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from motet.cruise import plan as cruise
from motet.runtime.elastic.layout import Layout, Role, TableName
from motet.runtime.elastic.plan import Add, Delete, Move, Operation, Plan

_ROLE_OF: dict[TableName, Role] = {"data": "worker", "model": "server"}


def name_of(executor: int) -> str:
    """What Cruise calls its machine."""
    return str(executor)


def holdings_of(layout: Layout) -> list[cruise.Holding]:
    """Who holds what now: of every executor, also of one that has no blocks."""
    return [
        cruise.Holding(
            name_of(executor),
            None,
            tuple(layout.data.blocks_of(executor)),
            tuple(layout.model.blocks_of(executor)),
        )
        for executor in layout.executors
    ]


def runtime_plan(wanted: cruise.Plan, layout: Layout, number_of: Mapping[str, int]) -> Plan:
    """New roles, then moves, then the end of roles that have nothing left to do.

    A machine that changes its role has both until its old blocks have left. An old role ends when
    all new ones have begun, so that nobody is the last of its role.
    """
    moves = [_move(one, number_of) for one in wanted.operations if isinstance(one, cruise.Move)]
    adds = _adds(moves, layout)
    waits = {(add.executor, add.role): (place,) for place, add in enumerate(adds)}
    after: list[tuple[int, ...]] = [()] * len(adds)
    after += [waits.get((one.destination, _ROLE_OF[one.table]), ()) for one in moves]
    deletes = _deletes(moves, layout)
    new_roles = tuple(range(len(adds)))
    for delete in deletes:
        leaving = [i for i, move in enumerate(moves, len(adds)) if move.source == delete.executor]
        after.append((*new_roles, *leaving))
    operations: tuple[Operation, ...] = (*adds, *moves, *deletes)
    return Plan(operations, tuple(after))


def _move(move: cruise.Move, number_of: Mapping[str, int]) -> Move:
    return Move(move.table, move.blocks, number_of[move.source], number_of[move.destination])


def _adds(moves: list[Move], layout: Layout) -> list[Add]:
    wanted = dict.fromkeys((move.destination, _ROLE_OF[move.table]) for move in moves)
    return [Add(one, role) for one, role in wanted if one not in layout.holders(role)]


def _deletes(moves: list[Move], layout: Layout) -> list[Delete]:
    """An executor that keeps no role ends."""
    for move in moves:
        role = _ROLE_OF[move.table]
        layout = (
            layout
            if move.destination in layout.holders(role)
            else layout.with_role(move.destination, role)
        )
        layout = layout.moved(move.table, move.blocks, move.destination)
    deletes: list[Delete] = []
    for executor in layout.executors:
        roles = layout.roles_of(executor)
        idle = [role for role in roles if _is_idle(layout, executor, role)]
        if len(idle) == len(roles):
            deletes.append(Delete(executor))
        else:
            deletes += [Delete(executor, role) for role in idle]
    return deletes


def _is_idle(layout: Layout, executor: int, role: Role) -> bool:
    owned = layout.data if role == "worker" else layout.model
    return not owned.blocks_of(executor)
