"""Operations that make jobs known to Aggregators, and let Aggregators forget them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import numpy as np

from motet.aggregation.master.controller.placement import planned_homes
from motet.aggregation.master.state.instructions import (
    CloseOn,
    ForgetOn,
    OpenOn,
    PoolOperation,
    SetCycleOn,
    SetWorkersOn,
)
from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.pool_state import AggregatorState, PoolState
from motet.aggregation.wire.aggregator_control import CycleShare


def job_operations(state: PoolState, wanted: Mapping[int, Set[int]]) -> Iterator[PoolOperation]:
    """What the running Aggregators are to be told. `wanted`: by job, who is to accept it."""
    for aggregator in list(state.aggregators.values()):
        if not aggregator.endpoint:
            continue
        yield from _opened(state, aggregator, wanted)
        yield from _closed(state, aggregator, wanted)
        yield from _staffed(state, aggregator)
        yield from _timed(state, aggregator)
        yield from _forgotten(state, aggregator)


def _opened(
    state: PoolState, aggregator: AggregatorState, wanted: Mapping[int, Set[int]]
) -> Iterator[PoolOperation]:
    for job, aggregators in wanted.items():
        if aggregator.number not in aggregators or job in aggregator.jobs:
            continue
        if not state.is_busy(aggregator.number, job):
            yield OpenOn(state.new_operation(), aggregator.number, job)


def _closed(
    state: PoolState, aggregator: AggregatorState, wanted: Mapping[int, Set[int]]
) -> Iterator[PoolOperation]:
    for job in aggregator.jobs:
        if aggregator.number in wanted.get(job, ()) or state.is_busy(aggregator.number, job):
            continue
        yield CloseOn(state.new_operation(), aggregator.number, job)


def _staffed(state: PoolState, aggregator: AggregatorState) -> Iterator[PoolOperation]:
    told_now = {
        each.job
        for each in state.operations.values()
        if isinstance(each, SetWorkersOn | CloseOn) and each.aggregator == aggregator.number
    }
    for job, told in aggregator.jobs.items():
        if job not in state.jobs or job in told_now:
            continue
        following = state.jobs[job].schedule.next_for(told)
        if following is not None:
            yield SetWorkersOn(
                state.new_operation(),
                aggregator.number,
                job,
                following.from_step,
                following.ranks,
            )


def _timed(state: PoolState, aggregator: AggregatorState) -> Iterator[PoolOperation]:
    is_told_now = any(
        isinstance(each, SetCycleOn) and each.aggregator == aggregator.number
        for each in state.operations.values()
    )
    cycle = cycle_of(state, aggregator.number)
    if cycle != aggregator.cycle and not is_told_now:
        yield SetCycleOn(state.new_operation(), aggregator.number, *cycle)


def _forgotten(state: PoolState, aggregator: AggregatorState) -> Iterator[PoolOperation]:
    """The state does not count the replicas on these peers any more: see `note_lost_replicas`."""
    told_now = {
        (each.job, each.peer)
        for each in state.operations.values()
        if isinstance(each, ForgetOn) and each.aggregator == aggregator.number
    }
    for job in state.jobs.values():
        measured = job.measured.get(aggregator.number)
        for peer in () if measured is None else measured.lost_replicas:
            if (job.number, peer) not in told_now:
                yield ForgetOn(state.new_operation(), aggregator.number, job.number, peer)


def cycle_of(state: PoolState, aggregator: int) -> tuple[int, tuple[CycleShare, ...]]:
    """The cycle of an Aggregator and what the jobs that it serves may use of it."""
    work = {job.number: _work_ns(state, job, aggregator) for job in state.jobs.values()}
    served = [state.jobs[job] for job, work_ns in work.items() if work_ns]
    cycle_ns = max((_iteration_ns(job) for job in served), default=0)
    cycle_ns = max(cycle_ns, _kept_ns(state, aggregator)) if served else 0
    shares = [
        CycleShare(job.number, _iteration_ns(job), cycle_ns // _iteration_ns(job), work[job.number])
        for job in served
    ]
    return cycle_ns, tuple(shares)


def _iteration_ns(job: PoolJob) -> int:
    assert job.profile is not None, "a planned job has a profile"
    return job.profile.iteration_ns


def _work_ns(state: PoolState, job: PoolJob, aggregator: int) -> int:
    """CPU time of a planned job's tensors on an Aggregator in one iteration."""
    if job.profile is None or planned_homes(state, job.number) is None:
        return 0
    return int(job.profile.tensor_ns[job.tensors_at(aggregator)].sum())


def _kept_ns(state: PoolState, aggregator: int) -> int:
    """The cycle that the plan keeps for the jobs of an Aggregator, or 0."""
    numbers = [number for number, process in state.bindings.items() if process == aggregator]
    for cluster in state.pool.clusters:
        places = np.flatnonzero(np.isin(cluster.aggregators, numbers))
        if len(places):
            return int(cluster.kept_ns[places[0]])
    return 0
