"""What is to be done so that the processes become what the plan says."""

from __future__ import annotations

from collections.abc import Iterator, Set

from motet.aggregation.master.controller.job_operations import job_operations
from motet.aggregation.master.controller.operation_results import note_begun
from motet.aggregation.master.controller.placement import (
    bind_plan,
    keepers,
    places_of_replicas,
    targets,
)
from motet.aggregation.master.controller.tensor_operations import tensor_operations
from motet.aggregation.master.state.instructions import (
    PoolInstruction,
    PoolOperation,
    PublishRoutes,
    StartAggregator,
    StopAggregator,
)
from motet.aggregation.master.state.pool_job import NOWHERE, UNSURE, PoolJob
from motet.aggregation.master.state.pool_state import PoolState
from motet.domain.arrays import Ints


def reconcile(state: PoolState) -> Iterator[PoolInstruction]:
    """Instructions that nothing under way carries out already; they are under way from now on."""
    bind_plan(state)
    for aggregator in state.aggregators.values():
        if not aggregator.is_requested:
            aggregator.is_requested = True
            yield StartAggregator(aggregator.number)
    kept = keepers(state) | ({state.standby} if state.standby is not None else set())
    homes = {job.number: targets(state, job) for job in state.jobs.values()}
    replicas = {
        job.number: places_of_replicas(state, job, homes[job.number], kept)
        for job in state.jobs.values()
    }
    wanted = {
        job.number: _wanted(state, job, homes[job.number], replicas[job.number])
        for job in state.jobs.values()
    }
    for operation in job_operations(state, wanted):
        yield from _begun(state, operation)
    for job in state.jobs.values():
        yield from _published(state, job)
        for operation in tensor_operations(state, job, homes[job.number], replicas[job.number]):
            yield from _begun(state, operation)
    yield from _stopped(state, kept)


def _begun(state: PoolState, operation: PoolOperation) -> Iterator[PoolInstruction]:
    if state.may_try(operation):
        state.operations[operation.operation] = operation
        note_begun(state, operation)
        yield operation


def _wanted(state: PoolState, job: PoolJob, homes: Ints, replicas: Ints) -> Set[int]:
    """The Aggregators that are to accept a job."""
    found = {*homes.tolist(), *job.homes.tolist(), *replicas.tolist(), *job.replicas.tolist()}
    for heirs in job.heirs.values():
        found.update(heirs)
    for operation in state.tensor_operations(job.number):
        found.add(operation.aggregator)
    return found - {NOWHERE, UNSURE}


def _published(state: PoolState, job: PoolJob) -> Iterator[PoolInstruction]:
    """New routes, once the Aggregators expect what the workers do because of them."""
    if job.heirs or not all(state.is_ready(each, job.number) for each in job.live_homes):
        return
    if job.is_news or not job.is_routed:
        job.is_routed, job.is_news = True, False
        job.version += 1
        yield PublishRoutes(job.number)


def _stopped(state: PoolState, kept: Set[int]) -> Iterator[PoolInstruction]:
    holding = {int(each) for job in state.jobs.values() for each in job.homes}
    for aggregator in list(state.aggregators.values()):
        number = aggregator.number
        if number in kept or aggregator.jobs or number in holding or state.is_busy(number):
            continue
        del state.aggregators[number]
        yield StopAggregator(number)
