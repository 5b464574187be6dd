"""The REST interface: routes, and what they do with the master."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Header, Query
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from motet import __version__
from motet.domain.errors import BadInput, MotetError, NotFound
from motet.interfaces.server.access import Access, problem
from motet.interfaces.server.logs import LogPart, LogPlace, read_log
from motet.interfaces.server.machine_routes import add_machine_routes
from motet.interfaces.server.policy_routes import add_policy_routes
from motet.interfaces.server.queue_routes import add_queue_routes
from motet.interfaces.server.views import job_explanation, job_line, job_page
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.master.facts import Verb
from motet.live.master.intake import Change, Submit
from motet.live.master.loop import MasterLoop, MasterStopped
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState

T = TypeVar("T")

_STATUS: dict[type[MotetError], int] = {BadInput: 422, NotFound: 404, MasterStopped: 503}
_LONGEST_WAIT_S = 60.0
_LARGEST_PAGE = 1000


def create_app(master: MasterLoop, workplace: Workplace, access: Access, user: str) -> FastAPI:
    """The application. `user`: the owner of all jobs that are submitted with the server's token."""
    app = FastAPI(title="Motet", version=__version__, docs_url=None, redoc_url=None)
    app.middleware("http")(access)
    app.exception_handler(MotetError)(_refuse)
    app.exception_handler(RequestValidationError)(_refuse_arguments)
    app.exception_handler(HTTPException)(_refuse_request)
    routes, jobs = JobRoutes(master, workplace, user), "/api/v1/jobs"
    app.add_api_route("/api/v1/health", health)
    add_policy_routes(app, master, user)
    add_machine_routes(app, master, user)
    add_queue_routes(app, master, user, routes.describe)
    app.add_api_route(jobs, routes.submit, methods=["POST"], status_code=201)
    app.add_api_route(jobs, routes.list)
    app.add_api_route(jobs + "/{number}", routes.describe)
    app.add_api_route(jobs + "/{number}/explain", routes.explain)
    app.add_api_route(jobs + "/{number}/wait", routes.wait)
    app.add_api_route(jobs + "/{number}/logs", routes.logs)
    app.add_api_route(jobs + "/{number}/{verb}", routes.change, methods=["POST"])
    return app


async def health() -> dict[str, str]:
    """Whether the server answers."""
    return {"version": __version__}


class JobRoutes:
    """What the API does with jobs."""

    def __init__(self, master: MasterLoop, workplace: Workplace, user: str) -> None:
        self._master, self._workplace, self._user = master, workplace, user

    async def submit(
        self,
        spec: dict[str, Any],
        idempotency_key: Annotated[str, Header(max_length=200)] = "",
    ) -> dict[str, Any]:
        """Submit a job; a repeated request with the same key returns the same job."""
        request = Submit(job_spec(spec), self._user, idempotency_key)
        return await self._page(await asyncio.wrap_future(self._master.ask(request)))

    async def list(
        self,
        state: Annotated[list[JobState] | None, Query()] = None,
        after: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=_LARGEST_PAGE)] = 100,
    ) -> dict[str, Any]:
        """Jobs in the order of their ids. `after`: the id of the last job of the page before."""
        states = frozenset(state or ())
        return await self._read(lambda live: _list(live, states, after, limit))

    async def describe(self, number: int) -> dict[str, Any]:
        """A job with its attempts."""
        return await self._page(number)

    async def explain(self, number: int) -> dict[str, Any]:
        """Why a job waited and where it ran, until now."""
        now_us = time.time_ns() // 1000
        return await self._read(lambda state: job_explanation(state, number, now_us))

    async def wait(
        self, number: int, timeout_s: Annotated[float, Query(ge=0, le=_LONGEST_WAIT_S)] = 30.0
    ) -> dict[str, Any]:
        """A job as soon as its state is final, or after the time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self._master.until_final(number)), timeout_s)
        return await self._page(number)

    async def change(self, number: int, verb: Verb) -> dict[str, Any]:
        """Cancel, suspend or resume a job."""
        await asyncio.wrap_future(self._master.ask(Change(number, verb, self._user)))
        return await self._page(number)

    async def logs(
        self,
        number: int,
        rank: Annotated[int, Query(ge=0)] = 0,
        attempt: Annotated[int, Query(ge=0)] = 0,
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        """A part of the log of one process. `attempt`: 0 is the last one."""
        where = await self._read(lambda live: _log_of(live, number, attempt, rank))
        part = await asyncio.to_thread(read_log, self._workplace, where, offset)
        return _log_response(part, where.attempt)

    async def _read(self, function: Callable[[LiveState], T]) -> T:
        return await asyncio.wrap_future(self._master.read(function))

    async def _page(self, number: int) -> dict[str, Any]:
        return await self._read(lambda state: job_page(state, number, self._workplace))


def _list(live: LiveState, states: frozenset[JobState], after: int, limit: int) -> dict[str, Any]:
    lines: list[dict[str, Any]] = []
    for number in range(after + 1, live.next_job):
        job = live.jobs[number]
        if not states or job.state in states:
            if len(lines) == limit:
                return {"jobs": lines, "next": lines[-1]["id"]}
            lines.append(job_line(live, job))
    return {"jobs": lines, "next": None}


def _log_of(state: LiveState, number: int, attempt: int, rank: int) -> LogPlace:
    job = state.job(number)
    if attempt > len(job.attempts):
        raise NotFound(f"job {number} has had {len(job.attempts)} attempts")
    chosen = attempt or len(job.attempts)
    processes = job.attempts[chosen - 1].processes if chosen else job.spec.processes
    if rank >= processes:
        raise NotFound(f"job {number} has processes 0 to {processes - 1}")
    has_ended = not chosen or job.attempts[chosen - 1].has_ended
    return LogPlace(number, chosen, rank, has_ended and (bool(attempt) or job.state.is_final))


def _log_response(part: LogPart, attempt: int) -> Response:
    return Response(
        part.data,
        media_type="application/octet-stream",
        headers={
            "Motet-Attempt": str(attempt),
            "Motet-Next-Offset": str(part.next_offset),
            "Motet-Log-Complete": "true" if part.is_complete else "false",
        },
    )


def _refuse(request: Request, error: Exception) -> JSONResponse:
    del request
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    return problem(status, str(error))


def _refuse_arguments(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return problem(422, f"{place}: {first['msg']}" if place else first["msg"])


def _refuse_request(request: Request, error: Exception) -> JSONResponse:
    """A path, a method or a body that the framework does not accept."""
    del request
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail))
