"""Requests of workers that wait for routes; and which workers are there."""

from __future__ import annotations

from dataclasses import dataclass

from motet.aggregation.master.state.pool_job import PoolJob
from motet.aggregation.master.state.pool_state import PoolState
from motet.aggregation.wire.pool_messages import Routes
from motet.domain.errors import JobFailed
from motet.runtime.wire.exchange import answer
from motet.transport import Request

_MOST_ENDINGS = 1_000
ABSENT_AFTER_S = 2.0
"""A worker without a waiting request is lost after this time."""


@dataclass(eq=False)
class _Desk:
    """`request`: of the worker, which waits for routes newer than `version`."""

    request: Request
    version: int
    seen_s: float


class WorkerDesk:
    """By job and rank. Used by one thread."""

    def __init__(self) -> None:
        self._desks: dict[tuple[int, int], _Desk] = {}
        self._endings: dict[int, str] = {}

    def wait(self, job: int, rank: int, request: Request, version: int, now_s: float) -> None:
        """Keep a request until there is an answer; it replaces the worker's last one."""
        self._desks[job, rank] = _Desk(request, version, now_s)

    def is_same_client(self, job: int, rank: int, request: Request) -> bool:
        """Whether the same process asks again, over another connection."""
        desk = self._desks.get((job, rank))
        return desk is not None and desk.request.client_id == request.client_id

    def answer(self, state: PoolState, job: PoolJob) -> None:
        """Answer the requests of a job for which there are newer routes that may be known."""
        if not job.is_routed or job.is_news:
            return
        for (number, rank), desk in self._desks.items():
            is_waiting = number == job.number and not desk.request.is_answered
            if is_waiting and desk.version < job.version:
                answer(desk.request, routes_of(state, job, rank))

    def end(self, job: int, error: str) -> None:
        """Tell all workers of a job that it has ended."""
        self._endings[job] = error or "the job has ended"
        while len(self._endings) > _MOST_ENDINGS:
            del self._endings[next(iter(self._endings))]
        for number, rank in [key for key in self._desks if key[0] == job]:
            request = self._desks.pop((number, rank)).request
            if not request.is_answered:
                request.fail(self.ending(job))

    def ending(self, job: int) -> JobFailed:
        """Why a job is not there any more."""
        return JobFailed(self._endings.get(job, "the job has ended, or its Aggregators were lost"))

    def forget(self, job: int, rank: int) -> None:
        """A worker has left."""
        desk = self._desks.pop((job, rank), None)
        if desk is not None and not desk.request.is_answered:
            desk.request.fail(JobFailed("the worker has left the job"))

    def lost(self, now_s: float) -> list[tuple[int, int]]:
        """Workers whose connection has broken, or who ask for nothing, for a while."""
        found = []
        for key, desk in self._desks.items():
            if desk.request.is_connected and not desk.request.is_answered:
                desk.seen_s = now_s
            elif now_s - desk.seen_s > ABSENT_AFTER_S:
                found.append(key)
        return found


def routes_of(state: PoolState, job: PoolJob, rank: int) -> Routes:
    """The present routes of a job for one of its workers."""
    homes = tuple(job.homes.tolist())
    return Routes(
        job.number,
        job.secret,
        job.version,
        homes,
        {number: state.aggregators[number].endpoint for number in sorted(set(homes))},
        job.schedule.ranks,
        job.schedule.first_step(rank),
    )
