"""Jobs that begin and workers that join them: what is accepted."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, prod

import numpy as np

from motet.aggregation.master.controller.placement import planned_homes, spread_by_size
from motet.aggregation.master.state.pool_job import NOWHERE, PoolJob
from motet.aggregation.master.state.pool_state import PoolState
from motet.aggregation.master.state.worker_schedule import WorkerSchedule
from motet.aggregation.wire.job_credentials import job_of_cluster
from motet.aggregation.wire.pool_messages import JoinJob, PoolFull
from motet.domain.errors import BadInput, Unreachable

_MARGIN_NS = 2 * 10**9
_LEAST_MARGIN, _MARGIN_UNMEASURED = 2, 10


def new_job(state: PoolState, request: JoinJob, secret: str) -> PoolJob:
    """A job on as many Aggregators of its own as it has servers.

    Raises BadInput, PoolFull; Unreachable: the job is not, or not yet, admitted, or not, or not
    any more, there for a worker of a live cluster that joins it later.
    """
    request = _admitted(state, request)
    if state.admitted is not None and request.rank >= request.workers:
        raise Unreachable(
            f"rank {request.rank} joins job {request.job!r}, which has not begun, or has ended"
        )
    _check_new(request)
    _require_room(state, request)
    count = min(request.servers, len(request.tensors))
    own = [state.new_aggregator() for _ in range(count)]
    homes = spread_by_size(request.tensors, own)
    job = PoolJob(
        state.next_job,
        request,
        secret,
        homes,
        homes.copy(),
        np.full(len(homes), NOWHERE),
        WorkerSchedule.of(request.workers),
    )
    state.next_job += 1
    state.jobs[job.number] = job
    return job


def check_worker(job: PoolJob, request: JoinJob) -> None:
    """Raises BadInput if a worker does not belong to the job whose name it gives."""
    if request.rank < 0:
        raise BadInput(f"rank is {request.rank}; ranks begin at 0")
    if request.rank in job.present:
        raise BadInput(
            f"job {job.name!r} has a worker of rank {request.rank} already; give each worker a "
            "rank of its own, or this job another name"
        )
    if len(request.tensors) != len(job.request.tensors):
        raise BadInput(
            f"job {job.name!r}: rank {request.rank} has {len(request.tensors)} tensors, the first "
            f"worker {len(job.request.tensors)}"
        )
    for given, known in zip(request.tensors, job.request.tensors, strict=True):
        if given != known:
            raise BadInput(
                f"job {job.name!r}: rank {request.rank} has {given}, the first worker {known}"
            )


def joining_step(job: PoolJob) -> int:
    """A step that no Aggregator will have begun when all of them know of a worker that joins."""
    most = job.steps[1]
    if not job.schedule.ranks:
        return most + 1
    if job.iteration_ns <= 0:
        return most + _MARGIN_UNMEASURED
    return most + _LEAST_MARGIN + ceil(_MARGIN_NS / job.iteration_ns)


def _admitted(state: PoolState, request: JoinJob) -> JoinJob:
    """With what the live cluster has on record of the job."""
    if state.admitted is None:
        return request
    known = state.admitted.get(job_of_cluster(request.job))
    if known is None:
        raise Unreachable(
            f"job {request.job!r} does not run in the cluster of this pool; submit it with "
            "'motet submit'"
        )
    limit = known.loss_limit if request.loss_limit is None else request.loss_limit
    return replace(request, servers=known.servers or request.servers, loss_limit=limit)


def _check_new(request: JoinJob) -> None:
    if not 0 <= request.rank < request.workers:
        raise BadInput(
            f"rank is {request.rank}; it must be from 0 to workers - 1 = {request.workers - 1}"
        )
    if request.servers < 1:
        raise BadInput(f"servers is {request.servers}; it must be 1 or more")
    if request.loss_limit is not None and not 0 < request.loss_limit < 1:
        raise BadInput(f"loss_limit is {request.loss_limit}; it must be above 0 and below 1")
    if not request.tensors:
        raise BadInput(f"job {request.job!r} has no tensors")
    empty = next((each for each in request.tensors if not prod(each.shape)), None)
    if empty is not None:
        raise BadInput(f"tensor {empty.name!r} has the shape {empty.shape} and no elements")


def _require_room(state: PoolState, request: JoinJob) -> None:
    """Admission: there must be room for the Aggregators that a job needs alone (4.3.3.5).

    Raises PoolFull; BadInput: there never is.
    """
    unplaced = [job for job in state.jobs.values() if planned_homes(state, job.number) is None]
    used = state.pool.aggregators + sum(job.request.servers for job in unplaced)
    most = state.settings.rules.most_aggregators
    if request.servers > most:
        raise BadInput(
            f"job {request.job!r} needs up to {request.servers} Aggregators, and the pool may have "
            f"{most}; give it fewer servers, or start a larger pool"
        )
    if used + request.servers > most:
        raise PoolFull(
            f"job {request.job!r} needs up to {request.servers} Aggregators, and the pool uses "
            f"{used} of at most {most}; wait for the end of a job, or start a larger pool"
        )
