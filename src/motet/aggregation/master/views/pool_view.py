"""Views of the state of a pool."""

from __future__ import annotations

import numpy as np

from motet.aggregation.master.controller.job_operations import cycle_of
from motet.aggregation.master.controller.measured_jobs import limit_of, loss_of
from motet.aggregation.master.controller.placement import planned_homes
from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.pool_state import AggregatorState, PoolState
from motet.aggregation.wire.aggregator_control import CycleShare
from motet.aggregation.wire.pool_views import AggregatorView, JobPhase, PoolJobView, PoolView


def view_of(state: PoolState) -> PoolView:
    """All Aggregators and jobs, by number."""
    clusters = (
        tuple(sorted(state.bindings[int(n)] for n in each.aggregators if int(n) in state.bindings))
        for each in state.pool.clusters
    )
    return PoolView(
        tuple(_aggregator_view(state, each) for _, each in sorted(state.aggregators.items())),
        tuple(job_view(state, each) for _, each in sorted(state.jobs.items())),
        tuple(clusters),
        state.settings.rules.most_aggregators,
        state.settings.rules.loss_limit,
    )


def job_view(state: PoolState, job: PoolJob) -> PoolJobView:
    """One job."""
    cluster = state.pool.cluster_of(job.number)
    measured = job.measured.values()
    sizes = [each.value_bytes for each in job.request.tensors if not each.is_internal]
    return PoolJobView(
        job.number,
        job.name,
        _phase(state, job),
        job.schedule.ranks,
        job.request.servers,
        len(job.homes),
        job.live_homes,
        job.steps[0],
        job.iteration_ns,
        None if job.profile is None else job.profile.iteration_ns,
        None if cluster is None else cluster.losses()[job.number],
        loss_of(job),
        max((each.late for each in measured), default=0),
        limit_of(state, job),
        sum(sizes),
        max(sizes, default=0),
    )


def _phase(state: PoolState, job: PoolJob) -> JobPhase:
    if job.heirs:
        return "recovering"
    if not job.is_routed:
        return "starting"
    if job.profile is None:
        return "profiling"
    return "waiting" if planned_homes(state, job.number) is None else "placed"


def _aggregator_view(state: PoolState, aggregator: AggregatorState) -> AggregatorView:
    number = aggregator.number
    cycle_ns, shares = cycle_of(state, number)
    used_ns = sum(share.runs * share.work_ns for share in shares)
    serving = [job for job in state.jobs.values() if len(job.tensors_at(number))]
    measured = [job.measured[number] for job in state.jobs.values() if number in job.measured]
    return AggregatorView(
        number,
        bool(aggregator.endpoint),
        cycle_ns,
        used_ns / cycle_ns if cycle_ns else 0.0,
        tuple(job.name for job in serving),
        sum(len(job.tensors_at(number)) for job in serving),
        sum(int(np.count_nonzero(job.replicas == number)) for job in state.jobs.values()),
        sum(each.memory_bytes for each in measured),
        aggregator.is_draining,
        sum(_link_ns(state, share, number) for share in shares) / cycle_ns if cycle_ns else 0.0,
    )


def _link_ns(state: PoolState, share: CycleShare, aggregator: int) -> int:
    """Time on the link that the runs of a job take in the cycle of an Aggregator."""
    job = state.jobs[share.job]
    assert job.profile is not None, "a planned job has a profile"
    return share.runs * int(job.profile.needs_ns[1, job.tensors_at(aggregator)].sum())
