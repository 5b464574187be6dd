"""What ended operations and dead processes change in the state of the pool."""

from __future__ import annotations

import numpy as np

from motet.aggregation.master.state.instructions import (
    CloseOn,
    MoveTo,
    OpenOn,
    PoolOperation,
    PromoteOn,
    ReplicateTo,
    SetCycleOn,
    SetWorkersOn,
)
from motet.aggregation.master.state.pool_job import NOWHERE, PoolJob
from motet.aggregation.master.state.pool_state import PoolState, asked_aggregators, subject
from motet.aggregation.master.state.worker_schedule import WorkerSet


def note_done(state: PoolState, operation: PoolOperation) -> None:
    """An operation is complete."""
    aggregator = state.aggregators.get(operation.aggregator)
    if isinstance(operation, MoveTo | ReplicateTo | PromoteOn):
        if operation.job in state.jobs:
            _tensors_done(state, state.jobs[operation.job], operation)
        return
    if aggregator is None:
        return
    match operation:
        case OpenOn():
            aggregator.jobs[operation.job] = ()
        case CloseOn():
            aggregator.jobs.pop(operation.job, None)
            if operation.job in state.jobs:
                state.jobs[operation.job].measured.pop(operation.aggregator, None)
        case SetWorkersOn():
            told = aggregator.jobs.get(operation.job, ())
            before = tuple(each for each in told if each.from_step < operation.from_step)
            now = WorkerSet(operation.from_step, operation.ranks)
            aggregator.jobs[operation.job] = (*before, now)
        case SetCycleOn():
            aggregator.cycle = (operation.cycle_ns, operation.shares)


def note_failed(state: PoolState, operation: PoolOperation) -> None:
    """An operation changed nothing; it is tried again after a pause, or in another way."""
    if isinstance(operation, PromoteOn) and operation.job in state.jobs:
        job = state.jobs[operation.job]
        if len(operation.tensors) > 1:
            job.is_promoted_singly = True  # The heir may have some of them.
            return
        (tensor,) = operation.tensors
        job.heirs[tensor] = job.heirs[tensor][1:]
        return
    if isinstance(operation, MoveTo) and operation.target not in state.aggregators:
        # The target may have served some of the tensors before it died; the source has the others.
        if operation.job in state.jobs:
            job = state.jobs[operation.job]
            rows = list(operation.tensors)
            heirs = [(operation.aggregator, int(job.replicas[row])) for row in rows]
            _orphan(job, rows, dict(zip(rows, heirs, strict=True)))
            _forget_dead_heirs(state, job)
        return
    state.resting[subject(operation)] = state.now_s + state.settings.retry_s


def note_death(state: PoolState, number: int) -> None:
    """A process has ended: what it served passes to the heirs."""
    aggregator = state.aggregators.pop(number)
    state.failed_starts = 0 if aggregator.endpoint else state.failed_starts + 1
    state.bindings = {n: process for n, process in state.bindings.items() if process != number}
    if state.standby == number:
        state.standby = None
    dropped = [each for each in state.operations.values() if each.aggregator == number]
    for operation in dropped:
        del state.operations[operation.operation]
    for job in state.jobs.values():
        _bereave(state, job, number, dropped)


def forget_openings(state: PoolState) -> None:
    """Of jobs that have ended while they were being opened: they may be open, and are closed."""
    for operation in list(state.operations.values()):
        if isinstance(operation, OpenOn) and operation.job not in state.jobs:
            del state.operations[operation.operation]
            note_done(state, operation)


def lost_tensors(job: PoolJob) -> list[int]:
    """Tensors whose state no process has any more."""
    return sorted(tensor for tensor, heirs in job.heirs.items() if not heirs)


def _tensors_done(
    state: PoolState, job: PoolJob, operation: MoveTo | ReplicateTo | PromoteOn
) -> None:
    rows = list(operation.tensors)
    match operation:
        case MoveTo():
            job.homes[rows], job.is_news = operation.target, True
            kept = np.isin(job.replicas[rows], [NOWHERE, operation.target])
            job.replicas[rows] = np.where(kept, operation.aggregator, job.replicas[rows])
            if operation.target not in state.aggregators:
                _orphan(job, rows, {row: (int(job.replicas[row]),) for row in rows})
                _forget_dead_heirs(state, job)
        case ReplicateTo():
            is_there = operation.target in state.aggregators
            job.replicas[rows] = operation.target if is_there else NOWHERE
        case PromoteOn():
            job.homes[rows], job.replicas[rows] = operation.aggregator, NOWHERE
            job.is_news = True
            for row in rows:
                del job.heirs[row]
            job.is_promoted_singly &= bool(job.heirs)


def _bereave(state: PoolState, job: PoolJob, number: int, dropped: list[PoolOperation]) -> None:
    if (job.home_hint == number).any():
        replacement = state.new_aggregator()
        job.home_hint = np.where(job.home_hint == number, replacement, job.home_hint)
        if not job.is_routed:  # No worker knows the old one.
            job.homes = np.where(job.homes == number, replacement, job.homes)
    job.measured.pop(number, None)
    orphans = job.tensors_at(number).tolist()
    peers: dict[int, tuple[int, ...]] = {}
    for operation in dropped:
        # The peer of a copy may have become the home, or the only replica that is up to date.
        if isinstance(operation, MoveTo | ReplicateTo) and operation.job == job.number:
            peers |= dict.fromkeys(operation.tensors, asked_aggregators(operation)[1:])
    heirs = {row: (*peers.get(row, ()), int(job.replicas[row])) for row in orphans}
    job.replicas[job.replicas == number] = NOWHERE
    _orphan(job, orphans, heirs)
    _forget_dead_heirs(state, job)


def _forget_dead_heirs(state: PoolState, job: PoolJob) -> None:
    for row, known in job.heirs.items():
        job.heirs[row] = tuple(dict.fromkeys(each for each in known if each in state.aggregators))


def _orphan(job: PoolJob, rows: list[int], heirs: dict[int, tuple[int, ...]]) -> None:
    job.heirs.update({row: heirs[row] for row in rows})
    job.replicas[rows] = NOWHERE
