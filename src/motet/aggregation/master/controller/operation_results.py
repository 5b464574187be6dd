"""What ended operations and dead processes change in the state of the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from motet.aggregation.master.state.instructions import (
    CloseOn,
    ForgetOn,
    MoveTo,
    OpenOn,
    PoolOperation,
    PromoteOn,
    ReplicateTo,
    SetCycleOn,
    SetWorkersOn,
)
from motet.aggregation.master.state.pool_job import NOWHERE, UNSURE, PoolJob
from motet.aggregation.master.state.pool_state import PoolState, asked_aggregators, subject
from motet.aggregation.master.state.worker_schedule import WorkerSet


def note_begun(state: PoolState, operation: PoolOperation) -> None:
    """An operation is under way."""
    if isinstance(operation, ReplicateTo):  # What becomes UNSURE from now on may concern its copy.
        job = state.jobs[operation.job]
        _replace(job, list(operation.tensors), UNSURE, NOWHERE)


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
                job = state.jobs[operation.job]
                job.measured.pop(operation.aggregator, None)
                _forget_stale(job, operation.aggregator, list(job.stale))
        case SetWorkersOn():
            told = aggregator.jobs.get(operation.job, ())
            before = tuple(each for each in told if each.from_step < operation.from_step)
            now = WorkerSet(operation.from_step, operation.ranks)
            aggregator.jobs[operation.job] = (*before, now)
        case SetCycleOn():
            aggregator.cycle = (operation.cycle_ns, operation.shares)
        case ForgetOn():
            _forgotten(state, operation)


def note_failed(state: PoolState, operation: PoolOperation) -> None:
    """An operation changed nothing; it is tried again after a pause, or in another way."""
    if isinstance(operation, ReplicateTo) and operation.job in state.jobs:
        # That there was none before is not known any more.
        _replace(state.jobs[operation.job], list(operation.tensors), NOWHERE, UNSURE)
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


def note_lost_replicas(
    state: PoolState, job: PoolJob, aggregator: int, endpoints: Sequence[str]
) -> None:
    """An Aggregator does not reach those at `endpoints`, whose replicas lack a step from now on."""
    if not endpoints:
        return
    peers = [each.number for each in state.aggregators.values() if each.endpoint in endpoints]
    lost = (job.homes == aggregator) & np.isin(job.replicas, peers)
    for operation in state.tensor_operations(job.number):
        rows = list(operation.tensors)
        if aggregator in asked_aggregators(operation):
            is_copied_there = isinstance(operation, ReplicateTo) and operation.target in peers
            lost[rows] |= is_copied_there | np.isin(job.replicas[rows], peers)
    for row in np.flatnonzero(lost).tolist():
        job.stale.setdefault(row, set()).update(peers)
    job.replicas[lost] = UNSURE


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
            is_sure = is_there & (job.replicas[rows] != UNSURE)
            job.replicas[rows] = np.where(is_sure, operation.target, UNSURE)
            _forget_stale(job, operation.target, np.array(rows)[is_sure].tolist())
        case PromoteOn():
            job.homes[rows], job.replicas[rows] = operation.aggregator, NOWHERE
            job.is_news = True
            for row in rows:
                del job.heirs[row]
            job.is_promoted_singly &= bool(job.heirs)


def _bereave(state: PoolState, job: PoolJob, number: int, dropped: list[PoolOperation]) -> None:
    replace_in_hint(state, job, number)
    job.measured.pop(number, None)
    orphans = job.tensors_at(number).tolist()
    peers: dict[int, tuple[int, ...]] = {}
    for operation in dropped:
        # The peer of a copy may have become the home, or the only replica that is up to date.
        if isinstance(operation, MoveTo | ReplicateTo) and operation.job == job.number:
            rows = [row for row in operation.tensors if _may_have(job, operation, row)]
            peers |= dict.fromkeys(rows, (operation.target,))
    heirs = {row: (*peers.get(row, ()), int(job.replicas[row])) for row in orphans}
    copied = [
        row
        for each in state.tensor_operations(job.number)
        if isinstance(each, ReplicateTo)
        for row in each.tensors
    ]
    is_dead = job.replicas == number
    job.replicas[is_dead] = np.where(np.isin(np.flatnonzero(is_dead), copied), NOWHERE, UNSURE)
    _orphan(job, orphans, heirs)
    _forget_dead_heirs(state, job)


def replace_in_hint(state: PoolState, job: PoolJob, number: int) -> None:
    """A job that has no place in the plan yet gets another process in place of this one."""
    if not (job.home_hint == number).any():
        return
    replacement = state.new_aggregator()
    job.home_hint = np.where(job.home_hint == number, replacement, job.home_hint)
    if not job.is_routed:  # No worker knows the old one.
        job.homes = np.where(job.homes == number, replacement, job.homes)


def _may_have(job: PoolJob, operation: MoveTo | ReplicateTo, row: int) -> bool:
    """Whether the target of a broken copy may have the latest state of a tensor."""
    if operation.target in job.stale.get(row, ()):
        return False
    return isinstance(operation, MoveTo) or bool(job.replicas[row] != UNSURE)


def _forget_stale(job: PoolJob, aggregator: int, rows: list[int]) -> None:
    """What it has of these tensors is up to date, or gone."""
    for row in rows:
        job.stale.get(row, set()).discard(aggregator)
    job.stale = {row: found for row, found in job.stale.items() if found}


def _replace(job: PoolJob, rows: list[int], old: int, new: int) -> None:
    """One replica for another where tensors have it."""
    job.replicas[rows] = np.where(job.replicas[rows] == old, new, job.replicas[rows])


def _forgotten(state: PoolState, operation: ForgetOn) -> None:
    """Until the next measurement, which does not name the peer any more."""
    if operation.job not in state.jobs:
        return
    measured = state.jobs[operation.job].measured
    known = measured.get(operation.aggregator)
    if known is not None:
        left = tuple(each for each in known.lost_replicas if each != operation.peer)
        measured[operation.aggregator] = replace(known, lost_replicas=left)


def _forget_dead_heirs(state: PoolState, job: PoolJob) -> None:
    for row, known in job.heirs.items():
        job.heirs[row] = tuple(dict.fromkeys(each for each in known if each in state.aggregators))


def _orphan(job: PoolJob, rows: list[int], heirs: dict[int, tuple[int, ...]]) -> None:
    job.heirs.update({row: heirs[row] for row in rows})
    job.replicas[rows] = NOWHERE
