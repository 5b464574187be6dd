"""Tetris by its definition: every job on every machine again after each start."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.snapshot import Placement, Snapshot
from motet.domain.wait import Wait
from motet.placement.room import ResourceDemand, Room


class Packed(NamedTuple):
    """`places`: of the rows that start, in their order; `code`: of the rows that wait."""

    places: dict[int, Placement]
    code: dict[int, Wait]


def packed(snapshot: Snapshot, short_jobs: float, fairness: float) -> Packed:
    """Without what the policy keeps from one start to the next."""
    jobs, room = snapshot.jobs, Room.seen(snapshot)
    work = [_work(snapshot, row) if short_jobs else 0.0 for row in range(len(jobs))]
    waiting = sorted(
        np.flatnonzero(jobs.held_gpus == 0).tolist(),
        key=lambda row: (work[row], jobs.submit_us[row], jobs.number[row]),
    )
    holders, places = np.flatnonzero(jobs.held_gpus).tolist(), dict[int, Placement]()
    mean_work = float(np.mean([work[row] for row in waiting])) if waiting else 0.0
    mean_alignment = 0.0
    while spots := _spots(snapshot, room, [row for row in waiting if row not in places]):
        queues = {int(jobs.queue[row]) for row in spots}
        counting = _least(snapshot, queues, holders, fairness) if fairness else queues
        able = {row: spot for row, spot in spots.items() if int(jobs.queue[row]) in counting}
        mean_alignment = mean_alignment or _mean_of_kinds(snapshot, able)
        score = {
            row: alignment / mean_alignment - short_jobs * work[row] / (mean_work or 1.0)
            for row, (_, alignment) in able.items()
        }
        row = max(able, key=score.__getitem__)  # The first of equals: `waiting` is in order.
        places[row] = spots[row][0]
        room.take(places[row], _demand(snapshot, row))
        holders.append(row)
    left = [row for row in waiting if row not in places]
    demands = {row: _demand(snapshot, row) for row in left}
    return Packed(places, {row: room.shortage(each, each.gpus) for row, each in demands.items()})


def _work(snapshot: Snapshot, row: int) -> float:
    """Time that is left x parts of the cluster's resources."""
    cluster = snapshot.cluster
    totals = (int(each.sum()) for each in (cluster.gpus, cluster.cpus, cluster.memory_bytes))
    needed = ResourceDemand.of(snapshot.jobs, row)
    parts = sum(amount / total for amount, total in zip(needed, totals, strict=True) if total)
    return parts * int(snapshot.jobs.remaining_us[row])


def _demand(snapshot: Snapshot, row: int) -> ResourceDemand:
    demand, cluster = ResourceDemand.of(snapshot.jobs, row), snapshot.cluster
    return ResourceDemand(
        demand.gpus,
        demand.cpus if cluster.cpus.any() else 0,
        demand.memory_bytes if cluster.memory_bytes.any() else 0,
    )


def _spots(snapshot: Snapshot, room: Room, rows: list[int]) -> dict[int, tuple[Placement, float]]:
    """Of those that fit: where, and their alignment there."""
    found = {row: _best_spot(room, _demand(snapshot, row)) for row in rows}
    return {row: spot for row, spot in found.items() if spot is not None}


def _best_spot(room: Room, demand: ResourceDemand) -> tuple[Placement, float] | None:
    free = room.gpus_for(demand).copy()
    if free.sum() < demand.gpus:
        return None
    worth = _alignment_of_a_gpu(room, demand)
    left, taken, total = demand.gpus, dict[int, int](), 0.0
    while left:
        counts = np.minimum(free, left)
        largest = np.flatnonzero(counts == counts.max())
        machine = int(largest[worth[largest].argmax()])
        taken[machine] = int(counts[machine])
        left, total = left - taken[machine], total + taken[machine] * float(worth[machine])
        free[machine] = 0
    machines = sorted(taken)
    return Placement(tuple(machines), tuple(taken[each] for each in machines)), total


def _alignment_of_a_gpu(room: Room, demand: ResourceDemand) -> Floats:
    cluster = room.cluster
    total = np.zeros(cluster.size)
    for free, sizes, needed in (
        (room.gpus, cluster.gpus, demand.gpus),
        (room.cpus, cluster.cpus, demand.cpus),
        (room.memory_bytes, cluster.memory_bytes, demand.memory_bytes),
    ):
        size = np.maximum(sizes, 1).astype(np.float64)  # Nothing is free where it is 0.
        total += needed / demand.gpus / size * (free / size)
    return total


def _mean_of_kinds(snapshot: Snapshot, able: dict[int, tuple[Placement, float]]) -> float:
    alignment = {_demand(snapshot, row): spot[1] for row, spot in able.items()}
    return sum(alignment.values()) / len(alignment)


def _least(snapshot: Snapshot, queues: set[int], holders: list[int], fairness: float) -> set[int]:
    """Of these queues those that hold least."""
    jobs, cluster = snapshot.jobs, snapshot.cluster
    columns = (
        (jobs.gpus, cluster.gpus),
        (jobs.cpus, cluster.cpus),
        (jobs.memory_bytes, cluster.memory_bytes),
    )

    def share(queue: int) -> float:
        rows = [row for row in holders if jobs.queue[row] == queue]
        return max(
            float(needed[rows].sum()) / int(sizes.sum()) for needed, sizes in columns if sizes.any()
        )

    ranked = sorted(queues, key=lambda queue: (share(queue), queue))
    return set(ranked[: max(ceil((1 - fairness) * len(ranked)), 1)])
