"""Plans that lead to given numbers of workers and servers with even shares. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from motet.domain.reconfiguration import Add, Delete, Move, Operation, Plan, Role, TableName
from motet.runtime.elastic.layout import JobLayout


def plan_for_counts(
    layout: JobLayout, workers: int | None, servers: int | None, machines: Collection[int]
) -> Plan:
    """A plan that leads to these numbers of workers and servers (None: as many as now).

    Executors keep their roles as far as possible. New roles go to machines without a role first.
    """
    kept_workers, kept_servers = _first(layout.workers, workers), _last(layout.servers, servers)
    free = [m for m in sorted(machines) if m not in {*kept_workers, *kept_servers}]
    wanted_workers = _filled(kept_workers, workers, [*free, *kept_servers])
    candidates = [*reversed(free), *reversed(kept_workers)]
    wanted_servers = _filled(kept_servers, servers, candidates, wanted_workers)
    return plan_for_executors(layout, wanted_workers, wanted_servers)


def plan_for_executors(layout: JobLayout, workers: Sequence[int], servers: Sequence[int]) -> Plan:
    """A plan that leads to these executors, each with its even share of the blocks.

    An executor that keeps a role loses only the blocks above its even share.
    """
    holders: list[tuple[Role, Sequence[int]]] = [("worker", workers), ("server", servers)]
    operations: list[Operation] = [
        Add(executor, role)
        for role, wanted in holders
        for executor in sorted(set(wanted) - set(layout.holders(role)))
    ]
    operations += _evening_moves(layout, "model", servers)
    operations += _evening_moves(layout, "data", workers)
    operations += [
        Delete(executor, role)
        for role, wanted in holders
        for executor in sorted(set(layout.holders(role)) - set(wanted))
    ]
    return Plan.of(operations)


def share_moves(layout: JobLayout, table: TableName, shares: Mapping[int, int]) -> list[Move]:
    """Moves from executors with more blocks than their share to executors with fewer.

    `shares`: blocks of every executor that shall hold some.
    """
    owned = layout.owners(table)
    held = {e: owned.blocks_of(e) for e in {*shares, *owned.owners.tolist()}}
    surplus = [
        (executor, block)
        for executor, blocks in sorted(held.items())
        for block in blocks[shares.get(executor, 0) :]
    ]
    by_pair: dict[tuple[int, int], list[int]] = {}
    for executor, share in shares.items():
        missing = max(share - len(held[executor]), 0)
        for source, block in surplus[:missing]:
            by_pair.setdefault((source, executor), []).append(block)
        del surplus[:missing]
    return [
        Move(table, tuple(blocks), source, destination)
        for (source, destination), blocks in by_pair.items()
    ]


def _first(present: Sequence[int], count: int | None) -> tuple[int, ...]:
    return tuple(sorted(present)[:count])


def _last(present: Sequence[int], count: int | None) -> tuple[int, ...]:
    return tuple(sorted(present)[-count:] if count is not None else present)


def _filled(
    kept: Sequence[int], count: int | None, candidates: Sequence[int], taken: Sequence[int] = ()
) -> tuple[int, ...]:
    """`kept` and as many candidates as are missing, those outside `taken` first."""
    ordered = [one for one in candidates if one not in taken and one not in kept]
    ordered += [one for one in {*candidates, *taken} if one not in ordered and one not in kept]
    missing = 0 if count is None else count - len(kept)
    return tuple(sorted([*kept, *ordered[: max(missing, 0)]]))


def _evening_moves(layout: JobLayout, table: TableName, holders: Sequence[int]) -> list[Move]:
    """Moves to even shares; the executors that hold most now have one more where it is needed."""
    owned = layout.owners(table)
    share, more = divmod(len(owned.owners), len(holders))
    shares = dict.fromkeys(holders, share)
    for executor in sorted(holders, key=lambda e: (-len(owned.blocks_of(e)), e))[:more]:
        shares[executor] += 1
    return share_moves(layout, table, shares)
