"""The durable part of the state, as one message: what a pMaster needs that is started again.

Measurements are not part of it: they come again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

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
from motet.aggregation.master.state.link_times import link_times
from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.pool_state import (
    AggregatorState,
    MasterSettings,
    PoolState,
)
from motet.aggregation.master.state.worker_schedule import WorkerSchedule, WorkerSet
from motet.aggregation.planner.clusters import ClusteredPool
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool, PlacedJob
from motet.aggregation.wire.aggregator_control import CycleShare
from motet.aggregation.wire.pool_messages import JobAdmission, JoinJob


@dataclass(frozen=True)
class SavedProfile:
    """An `AggregationProfile`; its times on links follow from the request and the settings."""

    iteration_ns: int
    tensor_ns: tuple[int, ...]
    servers: int


@dataclass(frozen=True)
class SavedJob:
    """A `PoolJob`."""

    number: int
    request: JoinJob
    secret: str
    home_hint: tuple[int, ...]
    homes: tuple[int, ...]
    replicas: tuple[int, ...]
    schedule: WorkerSchedule
    heirs: Mapping[int, tuple[int, ...]]
    stale: Mapping[int, tuple[int, ...]]
    is_routed: bool
    version: int
    profile: SavedProfile | None
    added: tuple[int, ...]


@dataclass(frozen=True)
class SavedAggregator:
    """An `AggregatorState`."""

    number: int
    is_requested: bool
    endpoint: str
    jobs: Mapping[int, tuple[WorkerSet, ...]]
    cycle_ns: int
    shares: tuple[CycleShare, ...]
    machine: str
    is_draining: bool


@dataclass(frozen=True)
class SavedCluster:
    """An `AggregatorPool`; `homes`: of each job's tensors. `staying`: jobs that do not move."""

    aggregators: tuple[int, ...]
    homes: Mapping[int, tuple[int, ...]]
    staying: tuple[int, ...]
    next_number: int
    kept_ns: tuple[int, ...]


@dataclass(frozen=True)
class SavedOperations:
    """Operations under way, by kind: they are carried out again. ForgetOn is not part of them: it
    follows from measurements.
    """

    opened: tuple[OpenOn, ...]
    closed: tuple[CloseOn, ...]
    staffed: tuple[SetWorkersOn, ...]
    timed: tuple[SetCycleOn, ...]
    moved: tuple[MoveTo, ...]
    replicated: tuple[ReplicateTo, ...]
    promoted: tuple[PromoteOn, ...]


@dataclass(frozen=True)
class SavedPool:
    """A `PoolState`."""

    jobs: tuple[SavedJob, ...]
    aggregators: tuple[SavedAggregator, ...]
    clusters: tuple[SavedCluster, ...]
    waiting: tuple[int, ...]
    next_planned: int
    bindings: Mapping[int, int]
    standby: int | None
    operations: SavedOperations
    next_aggregator: int
    next_job: int
    next_operation: int
    admitted: tuple[JobAdmission, ...] | None


def saved(state: PoolState) -> SavedPool:
    """The state as a message of plain values."""
    return SavedPool(
        tuple(map(_saved_job, state.jobs.values())),
        tuple(
            SavedAggregator(
                *(each.number, each.is_requested, each.endpoint, each.jobs, *each.cycle),
                machine=each.machine,
                is_draining=each.is_draining,
            )
            for each in state.aggregators.values()
        ),
        tuple(map(_saved_cluster, state.pool.clusters)),
        tuple(state.pool.waiting),
        state.pool.next_number,
        state.bindings,
        state.standby,
        _saved_operations(list(state.operations.values())),
        state.next_aggregator,
        state.next_job,
        state.next_operation,
        None if state.admitted is None else tuple(state.admitted.values()),
    )


def restored(settings: MasterSettings, saved_pool: SavedPool, now_s: float) -> PoolState:
    """The inverse of `saved`. Workers that are not seen from now on count as lost."""
    jobs = {each.number: _restored_job(each, settings, now_s) for each in saved_pool.jobs}
    profiles = {number: job.profile for number, job in jobs.items() if job.profile is not None}
    pool = ClusteredPool(
        settings.rules,
        tuple(_restored_cluster(each, profiles) for each in saved_pool.clusters),
        MappingProxyType({number: profiles[number] for number in saved_pool.waiting}),
        saved_pool.next_planned,
    )
    state = PoolState(settings, pool, jobs=jobs, now_s=now_s)
    for each in saved_pool.aggregators:
        cycle = (each.cycle_ns, each.shares)
        state.aggregators[each.number] = AggregatorState(
            *(each.number, each.is_requested, each.endpoint, dict(each.jobs), cycle),
            machine=each.machine,
            is_draining=each.is_draining,
        )
    state.bindings, state.standby = dict(saved_pool.bindings), saved_pool.standby
    state.operations = {each.operation: each for each in _operations(saved_pool.operations)}
    state.next_aggregator = saved_pool.next_aggregator
    state.next_job, state.next_operation = saved_pool.next_job, saved_pool.next_operation
    state.period_ends_s = now_s + settings.period_s
    if saved_pool.admitted is not None:
        state.admitted = {each.job: each for each in saved_pool.admitted}
    return state


def _saved_job(job: PoolJob) -> SavedJob:
    profile = job.profile
    return SavedJob(
        job.number,
        job.request,
        job.secret,
        tuple(job.home_hint.tolist()),
        tuple(job.homes.tolist()),
        tuple(job.replicas.tolist()),
        job.schedule,
        job.heirs,
        {tensor: tuple(sorted(found)) for tensor, found in job.stale.items()},
        job.is_routed,
        job.version,
        None
        if profile is None
        else SavedProfile(profile.iteration_ns, tuple(profile.tensor_ns.tolist()), profile.servers),
        job.added,
    )


def _restored_job(each: SavedJob, settings: MasterSettings, now_s: float) -> PoolJob:
    return PoolJob(
        each.number,
        each.request,
        each.secret,
        np.array(each.home_hint, np.int64),
        np.array(each.homes, np.int64),
        np.array(each.replicas, np.int64),
        each.schedule,
        dict(each.heirs),
        {tensor: set(found) for tensor, found in each.stale.items()},
        each.is_routed,
        each.version,
        _restored_profile(each, settings.link_bps),
        each.added,
        judged_from=settings.judged_steps,
        missing_since_s=dict.fromkeys(each.schedule.ranks, now_s),
        empty_since_s=None if each.schedule.ranks else now_s,
        is_news=True,
    )


def _restored_profile(job: SavedJob, link_bps: int | None) -> AggregationProfile | None:
    profile = job.profile
    if profile is None:
        return None
    return AggregationProfile(
        profile.iteration_ns,
        np.array(profile.tensor_ns, np.int64),
        profile.servers,
        job.request.loss_limit,
        link_times(job.request, len(job.schedule.ranks), link_bps, profile.iteration_ns),
    )


def _saved_cluster(cluster: AggregatorPool) -> SavedCluster:
    return SavedCluster(
        tuple(cluster.aggregators.tolist()),
        {number: tuple(job.homes.tolist()) for number, job in cluster.jobs.items()},
        tuple(number for number, job in cluster.jobs.items() if job.stays),
        cluster.next_number,
        tuple(cluster.kept_ns.tolist()),
    )


def _restored_cluster(
    each: SavedCluster, profiles: Mapping[int, AggregationProfile]
) -> AggregatorPool:
    jobs = {
        number: PlacedJob(profiles[number], np.array(homes, np.int64), number in each.staying)
        for number, homes in each.homes.items()
    }
    return AggregatorPool(
        np.array(each.aggregators, np.int64),
        MappingProxyType(jobs),
        each.next_number,
        np.array(each.kept_ns, np.int64),
    )


def _saved_operations(operations: list[PoolOperation]) -> SavedOperations:
    return SavedOperations(
        tuple(each for each in operations if isinstance(each, OpenOn)),
        tuple(each for each in operations if isinstance(each, CloseOn)),
        tuple(each for each in operations if isinstance(each, SetWorkersOn)),
        tuple(each for each in operations if isinstance(each, SetCycleOn)),
        tuple(each for each in operations if isinstance(each, MoveTo)),
        tuple(each for each in operations if isinstance(each, ReplicateTo)),
        tuple(each for each in operations if isinstance(each, PromoteOn)),
    )


def _operations(kinds: SavedOperations) -> list[PoolOperation]:
    found: list[PoolOperation] = [*kinds.opened, *kinds.closed, *kinds.staffed, *kinds.timed]
    return [*found, *kinds.moved, *kinds.replicated, *kinds.promoted]
