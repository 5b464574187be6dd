"""Running jobs keep GPUs that no other job gets, where starts were withdrawn. Pure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, Snapshot
from motet.domain.wait import Wait


def keeping_running_jobs(decision: Decision, snapshot: Snapshot) -> Decision:
    """The decision without preemptions for starts that do not take place, in the policy's order.

    A job keeps its machines, so it is kept only if no other job is named for its GPUs. A decision
    by which jobs share GPUs remains as it is.
    """
    jobs = snapshot.jobs
    stopped = np.flatnonzero((jobs.held_gpus > 0) & (decision.gpus == 0))
    if not len(stopped) or shares_gpus(decision, snapshot):
        return decision
    room, free = snapshot.gpu_count - int(decision.gpus.sum()), _unnamed(decision, snapshot)
    kept = list[int]()
    position = decision.reasons.position[stopped]
    for row in stopped[np.lexsort((jobs.number[stopped], position))].tolist():
        place = snapshot.placements[int(jobs.number[row])]
        machines, counts = list(place.machines), np.array(place.counts)
        if sum(place.counts) <= room and (free[machines] >= counts).all():
            kept.append(row)
            room -= sum(place.counts)
            free[machines] -= counts
    return _kept(decision, snapshot, np.array(kept, dtype=np.int64)) if kept else decision


def shares_gpus(decision: Decision, snapshot: Snapshot) -> bool:
    """Whether jobs share GPUs now, or will by the decision."""
    shares_now = bool((snapshot.jobs.partner != UNKNOWN).any())
    return shares_now or (decision.group is not None and bool((decision.group != UNKNOWN).any()))


def _unnamed(decision: Decision, snapshot: Snapshot) -> Ints:
    """`(machines,)`: GPUs that no job keeps and that the policy named for none."""
    jobs, free = snapshot.jobs, snapshot.cluster.gpus.copy()
    stays = (decision.gpus > 0) & (decision.gpus == jobs.held_gpus)
    for row in np.flatnonzero(stays).tolist():
        if row not in decision.places:
            place = snapshot.placements[int(jobs.number[row])]
            free[list(place.machines)] -= place.counts
    for place in decision.places.values():
        free[list(place.machines)] -= place.counts
    return free


def _kept(decision: Decision, snapshot: Snapshot, rows: Ints) -> Decision:
    jobs, reasons = snapshot.jobs, decision.reasons
    return replace(
        decision,
        gpus=_with(decision.gpus, rows, jobs.held_gpus),
        reasons=replace(
            reasons,
            code=np.where(np.isin(np.arange(len(jobs)), rows), int(Wait.RUNS), reasons.code),
        ),
        workers=_roles(decision.workers, rows, jobs.held_workers),
        servers=_roles(decision.servers, rows, jobs.held_servers),
    )


def _roles(column: Ints | None, rows: Ints, held: Ints) -> Ints | None:
    return None if column is None else _with(column, rows, held)


def _with(column: Ints, rows: Ints, values: Ints) -> Ints:
    found = column.copy()
    found[rows] = values[rows]
    return found
