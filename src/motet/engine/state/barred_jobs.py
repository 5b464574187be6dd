"""Waiting jobs that can never start, whatever the policy decides.

Where only these are left, a simulation is over: a policy that decides again at multiples of a time
would do so for ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from motet.domain.queues.queue_limits import largest_job
from motet.domain.snapshot import JobTable
from motet.domain.wait import Wait
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.proposed_sizes import TAKES_PROPOSALS
from motet.placement.room import ResourceDemand, Room


def barred_jobs(state: ClusterState, *, keeps_requests: bool) -> Mapping[int, Wait]:
    """Why each waiting job that is barred does not start, by number.

    A job is barred if it could not start even alone on the machines that take jobs: its queue is on
    hold or limited to fewer GPUs than the job needs, or the machines have too few GPUs, or too few
    CPUs or bytes beside them. Queues and machines stay as they are. `keeps_requests`: see Policy;
    an elastic job needs its request then, unless it proposes its size.
    """
    bars = _bars(state, keeps_requests=keeps_requests)
    return {number: why for number, why in bars if why is not Wait.RUNS}


def are_all_barred(state: ClusterState, *, keeps_requests: bool) -> bool:
    """Whether every job that is neither suspended nor holds GPUs is barred."""
    return all(why is not Wait.RUNS for _, why in _bars(state, keeps_requests=keeps_requests))


def _bars(state: ClusterState, *, keeps_requests: bool) -> Iterator[tuple[int, Wait]]:
    """RUNS: the job could start."""
    jobs, room = state.table.jobs, Room.of(state.cluster)
    room.gpus[state.machines.closed] = 0
    proposes = state.table.column(TAKES_PROPOSALS) > 0
    least = np.where(proposes | (not keeps_requests), jobs.least_gpus, jobs.gpus).tolist()
    for row, number in enumerate(jobs.number.tolist()):
        if number not in state.placements:
            yield number, _bar(state, jobs, row, least[row], room)


def _bar(state: ClusterState, jobs: JobTable, row: int, least: int, room: Room) -> Wait:
    """`least`: the GPUs that the job needs at least. `room`: of the machines that take jobs, when
    nothing runs."""
    queue, gpus, limits = int(jobs.queue[row]), state.cluster.gpu_count, state.queues.limits
    if queue < len(limits) and limits[queue].is_held:
        return Wait.QUEUE_HELD
    if least > gpus:
        return Wait.TOO_FEW_GPUS
    if queue < len(limits) and least > largest_job(queue, limits, gpus):
        return Wait.QUEUE_LIMIT
    if queue < len(limits) and least > largest_job(queue, limits, int(room.gpus.sum())):
        return Wait.MACHINES_DRAINED
    shortage = room.shortage(ResourceDemand.of(jobs, row), least)
    return Wait.MACHINES_DRAINED if shortage is Wait.TOO_FEW_GPUS else shortage
