"""Requests of workers and commands to pMaster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from motet.aggregation.master.service.pool_master import PoolMaster
from motet.aggregation.master.state.events import (
    AggregatorDrained,
    JobsAdmitted,
    WorkerJoined,
    WorkerLeft,
    WorkerSeen,
)
from motet.aggregation.master.views.explanation import explained_placement
from motet.aggregation.master.views.pool_view import view_of
from motet.aggregation.wire.job_credentials import job_of_client, job_of_cluster
from motet.aggregation.wire.pool_messages import (
    AdmitJobs,
    Admitted,
    AwaitRoutes,
    DrainAggregator,
    JoinJob,
    LeaveJob,
    Left,
    PoolRequest,
)
from motet.aggregation.wire.pool_views import DescribePool, ExplainJob
from motet.domain.errors import AuthenticationFailed, JobFailed, MotetError, NotFound, nearest_name
from motet.runtime.wire.codec import decode
from motet.runtime.wire.errors import BadMessage
from motet.runtime.wire.exchange import answer
from motet.transport import Request, new_secret


class PoolRequests:
    """A transport handler that passes requests to the thread of the controller."""

    def __init__(self, master: PoolMaster) -> None:
        self._master = master
        self._handlers: dict[int, tuple[type, Callable[[PoolMaster, Request, Any], None]]] = {
            PoolRequest.JOIN: (JoinJob, _join),
            PoolRequest.AWAIT_ROUTES: (AwaitRoutes, _await_routes),
            PoolRequest.LEAVE: (LeaveJob, _leave),
            PoolRequest.DESCRIBE: (DescribePool, _describe),
            PoolRequest.EXPLAIN: (ExplainJob, _explain),
            PoolRequest.DRAIN: (DrainAggregator, _drain),
            PoolRequest.ADMIT: (AdmitJobs, _admit),
        }

    def handle(self, request: Request) -> None:
        """Raises BadMessage."""
        if request.kind not in self._handlers:
            raise BadMessage(f"pMaster: request kind {request.kind} is unknown")
        expected, handler = self._handlers[request.kind]
        message: Any = decode(expected, request.meta)

        def run(master: PoolMaster) -> None:
            try:
                _require_own(master, request.client_id, message)
                handler(master, request, message)
            except MotetError as error:
                request.fail(error)

        self._master.call(run)


def _require_own(master: PoolMaster, client_id: str, message: Any) -> None:
    """Raises AuthenticationFailed if a worker of a live cluster's job concerns another job."""
    own = job_of_client(client_id)
    if own is None:
        return
    match message:
        case JoinJob(name) | ExplainJob(name):
            concerned: str | None = name
        case AwaitRoutes(number) | LeaveJob(number):
            job = master.controller.state.jobs.get(number)
            concerned = own if job is None else job.name
        case _:
            concerned = None
    if concerned is None or job_of_cluster(concerned) != own:
        raise AuthenticationFailed(f"a process of job {own!r} may not ask for this")


def _admit(master: PoolMaster, request: Request, message: AdmitJobs) -> None:
    master.take_in(JobsAdmitted(message.jobs))
    answer(request, Admitted())


def _join(master: PoolMaster, request: Request, message: JoinJob) -> None:
    now_s = time.monotonic()
    known = master.controller.job_named(message.job)
    if known is None or not master.desk.is_same_client(known.number, message.rank, request):
        master.take_in(WorkerJoined(message, new_secret().hex()))
    job = master.controller.job_named(message.job)
    if job is None:
        raise JobFailed(f"job {message.job!r} has ended")
    master.desk.wait(job.number, message.rank, request, 0, now_s)
    master.desk.answer(master.controller.state, job)


def _await_routes(master: PoolMaster, request: Request, message: AwaitRoutes) -> None:
    job = master.controller.state.jobs.get(message.job)
    if job is None:
        raise master.desk.ending(message.job)
    if message.rank not in job.schedule.ranks:
        raise JobFailed(
            f"job {job.name!r}: rank {message.rank} has left, or was taken for dead; it has to "
            "join again"
        )
    master.take_in(WorkerSeen(message.job, message.rank))
    master.desk.wait(message.job, message.rank, request, message.version, time.monotonic())
    master.desk.answer(master.controller.state, job)


def _leave(master: PoolMaster, request: Request, message: LeaveJob) -> None:
    master.desk.forget(message.job, message.rank)
    master.take_in(WorkerLeft(message.job, message.rank, message.steps))
    answer(request, Left())


def _describe(master: PoolMaster, request: Request, message: DescribePool) -> None:
    del message
    answer(request, view_of(master.controller.state))


def _explain(master: PoolMaster, request: Request, message: ExplainJob) -> None:
    job = master.controller.job_named(message.job)
    if job is None:
        names = [each.name for each in master.controller.state.jobs.values()]
        near = nearest_name(message.job, names)
        hint = f"did you mean {near!r}?" if near else f"jobs: {', '.join(names) or 'none'}"
        raise NotFound(f"the pool has no job {message.job!r}; {hint}")
    answer(request, explained_placement(master.controller.state, job))


def _drain(master: PoolMaster, request: Request, message: DrainAggregator) -> None:
    known = master.controller.state.aggregators
    if message.aggregator not in known:
        raise NotFound(
            f"the pool has no Aggregator {message.aggregator}; it has: "
            f"{', '.join(map(str, sorted(known))) or 'none'}"
        )
    master.take_in(AggregatorDrained(message.aggregator))
    answer(request, view_of(master.controller.state))
