"""Changes of a running job: add, delete, switch, move, and plans made of them. Pure.

A plan is a DAG: independent operations run at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

from motet.domain.errors import BadInput
from motet.runtime.elastic.layout import Layout, Role, TableName


@dataclass(frozen=True)
class Add:
    """Machine `executor` becomes a worker or a server as well; it has no blocks yet."""

    executor: int
    role: Role

    def __str__(self) -> str:
        return f"add {self.role} {self.executor}"


@dataclass(frozen=True)
class Delete:
    """An executor gives up a role (None: all); the blocks it still has go to the others.

    Without a role it ends.
    """

    executor: int
    role: Role | None = None

    def __str__(self) -> str:
        return f"delete {self.role or 'executor'} {self.executor}"


@dataclass(frozen=True)
class Switch:
    """An executor becomes a worker or a server and nothing else, in the same process."""

    executor: int
    role: Role

    def __str__(self) -> str:
        return f"switch {self.executor} to {self.role}"


@dataclass(frozen=True)
class Move:
    """Blocks of a table change their owner."""

    table: TableName
    blocks: tuple[int, ...]
    source: int
    destination: int

    def __str__(self) -> str:
        return (
            f"move {len(self.blocks)} {self.table} block(s) "
            f"from {self.source} to {self.destination}"
        )


Operation: TypeAlias = Add | Delete | Switch | Move


@dataclass(frozen=True)
class Plan:
    """Operations; number i begins when all of `after[i]` (smaller numbers) are done."""

    operations: tuple[Operation, ...]
    after: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.after) != len(self.operations):
            raise ValueError("`after` needs one entry per operation")
        if any(not 0 <= k < i for i, before in enumerate(self.after) for k in before):
            raise ValueError("an operation may only wait for operations before it")

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> Self:
        """Operations wait for those before them that touch the same executors.

        Who gives up a role also waits for everybody who took one on.
        """
        listed = tuple(operations)
        after = tuple(
            tuple(k for k in range(i) if _must_wait(operation, listed[k]))
            for i, operation in enumerate(listed)
        )
        return cls(listed, after)

    def checked(self, layout: Layout, machines: Collection[int]) -> Layout:
        """The layout that the plan leads to. Raises BadInput for what cannot be done.

        `machines`: those that may be given a role.
        """
        for number, operation in enumerate(self.operations, start=1):
            try:
                layout = applied(layout, operation, machines)
            except BadInput as error:
                raise BadInput(f"operation {number} ({operation}): {error}") from None
        return layout


def applied(layout: Layout, operation: Operation, machines: Collection[int]) -> Layout:
    """The layout after one operation. Raises BadInput."""
    if isinstance(operation, Move):
        return _after_move(layout, operation)
    roles = layout.roles_of(operation.executor)
    if not roles and operation.executor not in machines:
        raise BadInput(
            f"there is no machine {operation.executor}; the job may use {_numbers(machines)} "
            "(raise --machines)"
        )
    if isinstance(operation, Add):
        if operation.role in roles:
            raise BadInput(f"executor {operation.executor} is a {operation.role} already")
        return layout.with_role(operation.executor, operation.role)
    if not roles:
        raise BadInput(
            f"executor {operation.executor} has no role; executors are {layout.executors}"
        )
    if isinstance(operation, Switch):
        layout = layout.with_role(operation.executor, operation.role)
        given_up = [role for role in roles if role != operation.role]
    else:
        given_up = [operation.role] if operation.role is not None else list(roles)
    for role in given_up:
        layout = _after_giving_up(layout, operation.executor, role)
    return layout


def towards(
    layout: Layout, workers: int | None, servers: int | None, machines: Collection[int]
) -> Plan:
    """A plan that leads to these numbers of workers and servers (None: as many as now).

    Who has a role keeps it as far as possible, machines without one come before those with one.
    """
    kept = _first(layout.workers, workers), _last(layout.servers, servers)
    free = [machine for machine in sorted(machines) if machine not in {*kept[0], *kept[1]}]
    more_workers = _filled(kept[0], workers, [*free, *kept[1]])
    more_servers = _filled(kept[1], servers, [*reversed(free), *reversed(kept[0])], more_workers)
    return between(layout, more_workers, more_servers)


def between(layout: Layout, workers: Sequence[int], servers: Sequence[int]) -> Plan:
    """A plan that leads to these executors, each with its even share of the blocks.

    Few blocks move: nobody who keeps a role loses more than what is above an even share.
    """
    operations: list[Operation] = []
    target = layout
    for role, wanted in _by_role(workers, servers):
        for executor in sorted(set(wanted) - set(layout.holders(role))):
            operations.append(Add(executor, role))
            target = target.with_role(executor, role)
    for table, wanted in (("model", servers), ("data", workers)):
        moves = _evening_moves(layout, _table(table), wanted)
        operations += moves
    for role, wanted in _by_role(workers, servers):
        operations += [Delete(e, role) for e in sorted(set(layout.holders(role)) - set(wanted))]
    return Plan.of(operations)


def _numbers(machines: Collection[int]) -> str:
    listed = sorted(machines)
    if listed == list(range(len(listed))):
        return f"0 to {len(listed) - 1}"
    return ", ".join(map(str, listed))


def _first(present: Sequence[int], count: int | None) -> tuple[int, ...]:
    return tuple(sorted(present)[:count])


def _last(present: Sequence[int], count: int | None) -> tuple[int, ...]:
    return tuple(sorted(present)[-count:] if count is not None else present)


def _filled(
    kept: Sequence[int], count: int | None, candidates: Sequence[int], taken: Sequence[int] = ()
) -> tuple[int, ...]:
    """`kept` and as many candidates as it takes, those that nobody has `taken` first."""
    ordered = [one for one in candidates if one not in taken and one not in kept]
    ordered += [one for one in {*candidates, *taken} if one not in ordered and one not in kept]
    missing = 0 if count is None else count - len(kept)
    return tuple(sorted([*kept, *ordered[: max(missing, 0)]]))


def _by_role(workers: Sequence[int], servers: Sequence[int]) -> list[tuple[Role, Sequence[int]]]:
    return [("worker", workers), ("server", servers)]


def _table(name: str) -> TableName:
    return "data" if name == "data" else "model"


def _evening_moves(layout: Layout, table: TableName, wanted: Sequence[int]) -> list[Move]:
    owned = layout.owners(table)
    count = len(owned.owners)
    shares = {e: count // len(wanted) for e in wanted}
    # What is left over stays with those who have most already.
    for executor in sorted(wanted, key=lambda e: (-len(owned.blocks_of(e)), e))[
        : count % len(wanted)
    ]:
        shares[executor] += 1
    return share_moves(layout, table, shares)


def share_moves(layout: Layout, table: TableName, shares: Mapping[int, int]) -> list[Move]:
    """From those who have more blocks than their share to those who have fewer."""
    owned = layout.owners(table)
    held = {e: owned.blocks_of(e) for e in {*shares, *owned.owners.tolist()}}
    spare = [
        (executor, block)
        for executor, blocks in sorted(held.items())
        for block in blocks[shares.get(executor, 0) :]
    ]
    by_pair: dict[tuple[int, int], list[int]] = {}
    for executor in shares:
        for source, block in spare[: max(shares[executor] - len(held[executor]), 0)]:
            by_pair.setdefault((source, executor), []).append(block)
        del spare[: max(shares[executor] - len(held[executor]), 0)]
    return [
        Move(table, tuple(blocks), source, destination)
        for (source, destination), blocks in by_pair.items()
    ]


def _after_move(layout: Layout, move: Move) -> Layout:
    owned = layout.owners(move.table)
    role: Role = "worker" if move.table == "data" else "server"
    if move.destination not in layout.holders(role):
        raise BadInput(f"executor {move.destination} is no {role}; add it first")
    outside = [block for block in move.blocks if not 0 <= block < len(owned.owners)]
    if outside:
        raise BadInput(
            f"there is no {move.table} block {outside[0]}; they are 0 to {len(owned.owners) - 1}"
        )
    strange = [block for block in move.blocks if owned.owners[block] != move.source]
    if strange:
        raise BadInput(
            f"{move.table} block {strange[0]} is at executor {owned.owners[strange[0]]}, "
            f"not at {move.source}"
        )
    return layout.moved(move.table, move.blocks, move.destination)


def require_another(layout: Layout, executor: int, role: Role) -> None:
    """Raises BadInput if nobody would be left in the role of this executor."""
    if layout.holders(role) == (executor,):
        raise BadInput(f"executor {executor} is the only {role}; add another one first")


def _after_giving_up(layout: Layout, executor: int, role: Role) -> Layout:
    holders = layout.holders(role)
    if executor not in holders:
        raise BadInput(f"executor {executor} is no {role}")
    require_another(layout, executor, role)
    return layout.without_role(executor, role)


def _must_wait(operation: Operation, earlier: Operation) -> bool:
    gives_up = isinstance(operation, Delete | Switch)
    if gives_up and isinstance(earlier, Add | Switch):
        return True
    return not _touched(operation).isdisjoint(_touched(earlier))


def _touched(operation: Operation) -> set[int]:
    if isinstance(operation, Move):
        return {operation.source, operation.destination}
    return {operation.executor}
