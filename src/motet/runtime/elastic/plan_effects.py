"""The layout that a plan leads to. Plans that cannot be carried out are refused. Pure."""

from __future__ import annotations

from collections.abc import Collection

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Move, Operation, Plan, Role, Switch, holder_role
from motet.runtime.elastic.layout import JobLayout


def layout_after_plan(layout: JobLayout, plan: Plan, machines: Collection[int]) -> JobLayout:
    """The layout after a plan. Raises BadInput for the first operation that is impossible.

    `machines`: those that may be given a role.
    """
    for number, operation in enumerate(plan.operations, start=1):
        try:
            layout = layout_after_operation(layout, operation, machines)
        except BadInput as error:
            raise BadInput(f"operation {number} ({operation}): {error}") from None
    return layout


def layout_after_operation(
    layout: JobLayout, operation: Operation, machines: Collection[int]
) -> JobLayout:
    """The layout after one operation. Raises BadInput."""
    if isinstance(operation, Move):
        return _after_move(layout, operation)
    executor, roles = operation.executor, layout.roles_of(operation.executor)
    if not roles and executor not in machines:
        raise BadInput(
            f"there is no machine {executor}; the job may use {_numbers(machines)} "
            "(raise --machines)"
        )
    if isinstance(operation, Add):
        if operation.role in roles:
            raise BadInput(f"executor {executor} is a {operation.role} already")
        return layout.with_role(executor, operation.role)
    if not roles:
        raise BadInput(f"executor {executor} has no role; executors are {layout.executors}")
    if isinstance(operation, Switch):
        layout = layout.with_role(executor, operation.role)
        ended = [role for role in roles if role != operation.role]
    else:
        ended = [operation.role] if operation.role is not None else list(roles)
    for role in ended:
        layout = _without_role(layout, executor, role)
    return layout


def require_another(layout: JobLayout, executor: int, role: Role) -> None:
    """Raises BadInput if this executor is the only one in its role."""
    if layout.holders(role) == (executor,):
        raise BadInput(f"executor {executor} is the only {role}; add another one first")


def _after_move(layout: JobLayout, move: Move) -> JobLayout:
    owned, role = layout.owners(move.table), holder_role(move.table)
    if move.destination not in layout.holders(role):
        raise BadInput(f"executor {move.destination} is no {role}; add it first")
    outside = [block for block in move.blocks if not 0 <= block < len(owned.owners)]
    if outside:
        raise BadInput(
            f"there is no {move.table} block {outside[0]}; they are 0 to {len(owned.owners) - 1}"
        )
    elsewhere = [block for block in move.blocks if owned.owners[block] != move.source]
    if elsewhere:
        raise BadInput(
            f"{move.table} block {elsewhere[0]} is at executor {owned.owners[elsewhere[0]]}, "
            f"not at {move.source}"
        )
    return layout.moved(move.table, move.blocks, move.destination)


def _without_role(layout: JobLayout, executor: int, role: Role) -> JobLayout:
    if executor not in layout.holders(role):
        raise BadInput(f"executor {executor} is no {role}")
    require_another(layout, executor, role)
    return layout.without_role(executor, role)


def _numbers(machines: Collection[int]) -> str:
    listed = sorted(machines)
    if listed == list(range(len(listed))):
        return f"0 to {len(listed) - 1}"
    return ", ".join(map(str, listed))
