"""Why a tensor is on its Aggregator, and why on no other one of the cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.aggregation.master.controller.placement import planned_homes, targets
from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.pool_state import PoolState
from motet.aggregation.master.views.pool_view import job_view
from motet.aggregation.planner.cyclic_execution import Cycles
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.wire.pool_views import JobPlacement, TensorView
from motet.domain.arrays import Bools


@dataclass(frozen=True)
class _PlannedJob:
    """`estimated`: the cycles of its cluster if it had tensors on every Aggregator. `is_reserved`:
    Aggregators on which another job, or itself, stays alone."""

    cluster: AggregatorPool
    estimated: Cycles
    is_reserved: Bools
    iteration_ns: int
    processes: tuple[int, ...]


def explained_placement(state: PoolState, job: PoolJob) -> JobPlacement:
    """Where each tensor is, and why, from the present state of the plan."""
    planned = _planned(state, job)
    tensors = (_tensor_view(state, job, planned, row) for row in range(len(job.homes)))
    return JobPlacement(job_view(state, job), tuple(tensors))


def _planned(state: PoolState, job: PoolJob) -> _PlannedJob | None:
    cluster = state.pool.cluster_of(job.number)
    if cluster is None or job.profile is None:
        return None
    pool_limit, iteration_ns = state.settings.rules.loss_limit, job.profile.iteration_ns
    processes = tuple(state.bindings[int(each)] for each in cluster.aggregators)
    estimated = cluster.cycles(pool_limit, iteration_ns, job.loss_limit)
    is_reserved = cluster.is_reserved()
    return _PlannedJob(cluster, estimated, is_reserved, iteration_ns, processes)


def _tensor_view(
    state: PoolState, job: PoolJob, planned: _PlannedJob | None, row: int
) -> TensorView:
    spec = job.request.tensors[row]
    replica = int(job.replicas[row])
    reason, others = _reasons(state, job, planned, row)
    return TensorView(
        spec.name,
        spec.shape,
        int(job.homes[row]),
        None if replica < 0 else replica,
        None if job.profile is None else int(job.profile.tensor_ns[row]),
        reason,
        others,
    )


def _reasons(
    state: PoolState, job: PoolJob, planned: _PlannedJob | None, row: int
) -> tuple[str, tuple[str, ...]]:
    if row in job.heirs:
        return "its Aggregator has died; the replica takes over", ()
    if planned is None:
        return _unplanned_reason(state, job), ()
    home = int(targets(state, job)[row])
    if home != job.homes[row]:
        return f"it is about to move to Aggregator {home}, where the plan has it", ()
    others = tuple(
        _other_reason(planned, job, row, place)
        for place, process in enumerate(planned.processes)
        if process != home
    )
    return _home_reason(state, planned, job, row), others


def _unplanned_reason(state: PoolState, job: PoolJob) -> str:
    if job.profile is not None:
        return "its job waits for a place in the pool on the Aggregators of its measurement"
    wanted = state.settings.profiled_steps
    return f"its job is measured alone: {min(job.measured_steps, wanted)} of {wanted} steps"


def _home_reason(state: PoolState, planned: _PlannedJob, job: PoolJob, row: int) -> str:
    homes = planned_homes(state, job.number)
    assert job.profile is not None, "a planned job has a profile"
    assert homes is not None, "a planned job has homes"
    number = int(homes[row])
    place = int(planned.cluster.positions(np.array([number]))[0])
    cycle_ns = planned.estimated.cycle_ns[place]
    runs = cycle_ns // planned.iteration_ns
    share = runs * job.profile.tensor_ns[row] / cycle_ns
    kind = "spread after a measured loss" if number in job.added else "best fit"
    times = "once" if runs == 1 else f"{runs} times"
    return (
        f"{kind}: it runs {times} in the cycle of {_ms(int(cycle_ns))} and takes {share:.1%} of "
        f"it; {_free_shares(planned.estimated, place)}"
    )


def _free_shares(estimated: Cycles, place: int) -> str:
    """Of the cycle of an Aggregator; also of its link, where that is fuller."""
    cpu, link = estimated.room_ns[:, place] / estimated.cycle_ns[place]
    text = f"{cpu:.1%} are free"
    return f"{text}, but only {link:.1%} of its link" if link < cpu else text


def _other_reason(planned: _PlannedJob, job: PoolJob, row: int, place: int) -> str:
    assert job.profile is not None, "a planned job has a profile"
    number = planned.processes[place]
    cycle_ns = planned.estimated.cycle_ns[place]
    if planned.is_reserved[place]:
        return f"Aggregator {number}: a job that had lost too much speed is alone there"
    if not planned.estimated.is_within[place]:
        return (
            f"Aggregator {number}: in a cycle of {_ms(int(cycle_ns))} a job would lose as much of "
            "its speed as its limit, or more"
        )
    needs_ns = cycle_ns // planned.iteration_ns * job.profile.needs_ns[:, row]
    room_ns = planned.estimated.room_ns[:, place]
    for resource, free_ns, needed_ns in zip(("", " of its link"), room_ns, needs_ns, strict=True):
        if free_ns < needed_ns:
            free = f"{_ms(max(int(free_ns), 0))}{resource} are free"
            return f"Aggregator {number}: {free}, {_ms(int(needed_ns))} are needed"
    free = _ms(int(room_ns.min()))
    return f"Aggregator {number}: it has room too ({free}); nothing is moved without a need"


def _ms(duration_ns: int) -> str:
    return f"{duration_ns / 1e6:.3g} ms"
