"""Which process is to hold each tensor and each replica."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from motet.aggregation.master.state.pool_job import NOWHERE, PoolJob
from motet.aggregation.master.state.pool_state import PoolState
from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.domain.arrays import Array, Ints


def spread_by_size(tensors: tuple[TensorSpec, ...], aggregators: list[int]) -> Ints:
    """Homes of the tensors of a job that is to be measured: the largest first, each on the
    Aggregator with the fewest elements.
    """
    sizes = [int(np.prod(each.shape, dtype=np.int64)) for each in tensors]
    loads = [(0, place) for place in range(len(aggregators))]
    homes = np.zeros(len(tensors), np.int64)
    for tensor in sorted(range(len(tensors)), key=lambda each: (-sizes[each], each)):
        load, place = heapq.heappop(loads)
        homes[tensor] = aggregators[place]
        heapq.heappush(loads, (load + sizes[tensor], place))
    return homes


def planned_homes(state: PoolState, job: int) -> Ints | None:
    """The Aggregators of the plan that hold a job's tensors; None: it has no place there yet."""
    cluster = state.pool.cluster_of(job)
    return None if cluster is None else cluster.jobs[job].homes


def targets(state: PoolState, job: PoolJob) -> Ints:
    """`(tensors,)`, the process that is to hold each tensor. The plan is bound."""
    planned = planned_homes(state, job.number)
    if planned is None:
        return job.home_hint
    return np.array([state.bindings[int(each)] for each in planned])


def bind_plan(state: PoolState) -> None:
    """Give each Aggregator of the plan a process, one that holds its tensors if possible, and
    choose the one for replicas alone if the plan has too few.
    """
    numbers = {int(n) for cluster in state.pool.clusters for n in cluster.aggregators}
    staying = state.staying()
    state.bindings = {n: p for n, p in state.bindings.items() if n in numbers and p in staying}
    for number in sorted(numbers - state.bindings.keys()):
        free = sorted(state.staying() - keepers(state))
        present = {process: _present_ns(state, number, process) for process in free}
        best = max(free, key=lambda each: (present[each], -each), default=None)
        state.bindings[number] = state.new_aggregator() if best is None else best
    _choose_standby(state)


def keepers(state: PoolState) -> set[int]:
    """Processes that tensors are to be on."""
    hinted = {
        int(process)
        for job in state.jobs.values()
        if planned_homes(state, job.number) is None
        for process in np.unique(job.home_hint)
    }
    return hinted | set(state.bindings.values())


def places_of_replicas(state: PoolState, job: PoolJob, homes: Ints, kept: set[int]) -> Ints:
    """`(tensors,)`, the process for the replica of each tensor with these homes, or NOWHERE.

    A replica stays where it is if it may; otherwise it is on the next process after its home, on
    another machine if there is one.
    """
    running = sorted(each for each in kept if state.is_running(each))
    machines = {each: state.aggregators[each].machine for each in running}
    stays = np.isin(job.replicas, running) & (job.replicas != homes)
    if len(set(machines.values())) > 1:
        pairs = zip(job.replicas.tolist(), homes.tolist(), strict=True)
        stays &= np.array([machines.get(one) != machines.get(other) for one, other in pairs])
    following = {int(home): _next_after(int(home), machines) for home in np.unique(homes)}
    chosen: Array = np.array([following[int(home)] for home in homes])
    return np.where(stays, job.replicas, chosen)


def _next_after(home: int, machines: Mapping[int, str]) -> int:
    """`machines`: of the running processes, which ascend."""
    others = [each for each in machines if each != home]
    apart = [each for each in others if machines[each] != machines.get(home)]
    others = apart or others
    return next((each for each in others if each > home), others[0] if others else NOWHERE)


def _present_ns(state: PoolState, number: int, process: int) -> int:
    """CPU time of the tensors of a planned Aggregator that a process holds already."""
    found = 0
    for cluster in state.pool.clusters:
        for job, placed in cluster.jobs.items():
            is_there = (placed.homes == number) & (state.jobs[job].homes == process)
            found += int(placed.profile.tensor_ns[is_there].sum())
    return found


def _choose_standby(state: PoolState) -> None:
    kept = keepers(state)
    if len(kept) != 1:
        state.standby = None
    elif state.standby not in state.staying() or state.standby in kept:
        free = sorted(state.staying() - kept)
        state.standby = free[0] if free else state.new_aggregator()
