"""The REST interface: routes, and what they do with the master."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Header, Query
from fastapi.exceptions import RequestValidationError
from pydantic import AwareDatetime
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from motet import __version__
from motet.domain.errors import BadInput, MotetError, NotFound, Unreachable
from motet.domain.units import SECOND_US
from motet.engine.policy_loading.faults import BrokenPolicy
from motet.interfaces.server.access import Access, problem
from motet.interfaces.server.accounts.caller_of_request import (
    RequestCaller,
    is_still_valid,
    note_target,
)
from motet.interfaces.server.accounts.job_access import require_use
from motet.interfaces.server.api_contract.api_description import API_DOCUMENT, BYTES, PROBLEMS
from motet.interfaces.server.api_contract.known_parameters import require_known_parameters
from motet.interfaces.server.job_rows import (
    ChosenJobs,
    chosen_fields,
    jobs_document,
    with_fields,
)
from motet.interfaces.server.logs import LogPart, log_place, read_log
from motet.interfaces.server.machine_routes import add_machine_routes
from motet.interfaces.server.predictions.start_predictions import StartPredictions
from motet.interfaces.server.queue_routes import add_queue_routes
from motet.interfaces.server.views import (
    array_page,
    dated_explanation,
    job_explanation,
    job_page,
)
from motet.live.accounts.roles import Forbidden
from motet.live.jobs.array_file import array_spec, is_array
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_sections import PATTERNS
from motet.live.jobs.job_state import JobState
from motet.live.jobs.training_files import require_snapshot_files, require_visible_files
from motet.live.jobs.wrong_values import wrong_value
from motet.live.launcher.rank_files import checkpoint_writes_us
from motet.live.master.facts import Verb
from motet.live.master.intake import Change
from motet.live.master.job_updates import LimitRaised
from motet.live.master.loop import MasterLoop, MasterStopped
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.master.submissions.repeated_request import KeyReused
from motet.live.master.submissions.submission import Submit, SubmitArray
from motet.live.workdirs.store import SnapshotStore

T = TypeVar("T")
_LOG = logging.getLogger("motet.server")

_STATUS: dict[type[MotetError], int] = {
    KeyReused: 409,
    BadInput: 422,
    BrokenPolicy: 422,
    Forbidden: 403,
    LimitRaised: 403,
    MasterStopped: 503,
    NotFound: 404,
    Unreachable: 503,
}
_STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_HIDDEN = {"spec": None, "results": None, "working_folder": None}
_LONGEST_WAIT_S = 60.0
_LARGEST_PAGE = 1000


def create_app(
    master: MasterLoop, workplace: Workplace, access: Access, predictions: StartPredictions
) -> FastAPI:
    """The application."""
    app = FastAPI(
        title="Motet",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=API_DOCUMENT,
        responses=PROBLEMS,
        dependencies=[Depends(require_known_parameters)],
    )
    app.middleware("http")(access)
    app.exception_handler(MotetError)(_refuse)
    app.exception_handler(RequestValidationError)(_refuse_arguments)
    app.exception_handler(HTTPException)(_refuse_request)
    app.exception_handler(OSError)(_refuse_storage)
    app.exception_handler(DBAPIError)(_refuse_storage)
    routes, jobs = JobRoutes(master, workplace, predictions), "/api/v1/jobs"
    app.add_api_route("/api/v1/health", health)
    add_machine_routes(app, master, workplace)
    add_queue_routes(app, master, routes.describe)
    app.add_api_route(jobs, routes.submit, methods=["POST"], status_code=201)
    app.add_api_route(jobs, routes.list)
    app.add_api_route(jobs + "/{number}", routes.describe)
    app.add_api_route(jobs + "/{number}/explain", routes.explain)
    app.add_api_route(jobs + "/{number}/wait", routes.wait)
    app.add_api_route(
        jobs + "/{number}/logs", routes.logs, response_class=Response, responses=BYTES
    )
    app.add_api_route(jobs + "/{number}/{verb}", routes.change, methods=["POST"])
    return app


async def health() -> dict[str, str]:
    """Whether the server answers."""
    return {"version": __version__}


class JobRoutes:
    """What the API does with jobs."""

    def __init__(
        self, master: MasterLoop, workplace: Workplace, predictions: StartPredictions
    ) -> None:
        self._master, self._workplace, self._predictions = master, workplace, predictions
        self._snapshots = SnapshotStore(workplace.snapshots_folder)

    async def submit(
        self,
        spec: dict[str, Any],
        request: Request,
        caller: RequestCaller,
        idempotency_key: Annotated[str, Header(max_length=200)] = "",
    ) -> dict[str, Any]:
        """Submit a job; a repeated request with the same key returns the same job, the key of
        another one is refused (409)."""
        given = await asyncio.to_thread(_submission, spec, caller.user, idempotency_key)
        try:
            await asyncio.to_thread(_require_files, given, self._snapshots)
        except BadInput:  # The files of a job that was accepted may be gone since.
            user, key = caller.user, idempotency_key
            if await self._read(lambda state: state.job_of_key(user, key)) is None:
                raise
        number: int = await asyncio.wrap_future(self._master.ask(given))
        note_target(request, f"job {number}")
        return await self.describe(number, caller)

    async def list(
        self,
        caller: RequestCaller,
        state: Annotated[list[JobState] | None, Query()] = None,
        after: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=_LARGEST_PAGE)] = 100,
        array: Annotated[int | None, Query(ge=0)] = None,
        user: Annotated[str, Query(max_length=100)] = "",
        queue: Annotated[str, Query(max_length=100)] = "",
        ended_since: AwareDatetime | None = None,
        fields: Annotated[str, Query(max_length=1000)] = "",
    ) -> dict[str, Any]:
        """Jobs in the order of their ids; an array is a row in their place.

        `after`: the id of the last row of the page before. `array`: only its jobs; 0: all jobs, and
        no rows of arrays. `ended_since`: leaves out those that ended before; `hidden` counts them.
        `fields`: those of the rows that are wanted, as `id,state`; empty: all.
        """
        names = chosen_fields(fields)
        since_us = 0 if ended_since is None else round(ended_since.timestamp() * SECOND_US)
        chosen = ChosenJobs(frozenset(state or ()), user, queue, array, since_us)
        page = await self._read(lambda live: jobs_document(live, chosen, caller.user, after, limit))
        return with_fields(page, names)

    async def describe(self, number: int, caller: RequestCaller) -> dict[str, Any]:
        """A job with its attempts, or an array with its jobs; `spec` and `results` are for its
        user."""
        found = await self._read(lambda state: _page(state, number, self._workplace))
        if found["kind"] == "array":
            return found
        return found if caller.may_use(found["user"]) else {**found, **_HIDDEN}

    async def explain(self, number: int) -> dict[str, Any]:
        """Why a job waited and where it ran, until now. `expected_start`: None: it does not
        wait."""
        now_us = time.time_ns() // 1000
        writes_us = await asyncio.to_thread(
            checkpoint_writes_us, self._workplace.checkpoint_folder(number)
        )
        document = await self._read(lambda state: job_explanation(state, number, now_us, writes_us))
        start = self._predictions.of(number, now_us)
        return {**dated_explanation(document), "expected_start": start}

    async def wait(
        self,
        number: int,
        request: Request,
        caller: RequestCaller,
        timeout_s: Annotated[float, Query(ge=0, le=_LONGEST_WAIT_S)] = 30.0,
    ) -> dict[str, Any]:
        """A job as soon as its state is final, or after the time."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self._master.until_final(number)), timeout_s)
        if not is_still_valid(request):
            raise HTTPException(401, "the token has expired, or was revoked, since the wait began")
        return await self.describe(number, caller)

    async def change(self, number: int, verb: Verb, caller: RequestCaller) -> dict[str, Any]:
        """Cancel, suspend or resume a job."""
        await require_use(self._master, caller, number)
        await asyncio.wrap_future(self._master.ask(Change(number, verb, caller.user)))
        return await self.describe(number, caller)

    async def logs(
        self,
        number: int,
        caller: RequestCaller,
        rank: Annotated[int, Query(ge=0)] = 0,
        attempt: Annotated[int, Query(ge=0)] = 0,
        offset: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    ) -> Response:
        """A part of the log of one process. `attempt`: 0 is the last one."""
        await require_use(self._master, caller, number)
        where = await self._read(lambda live: log_place(live, number, attempt, rank))
        part = await asyncio.to_thread(read_log, self._workplace, where, offset)
        return _log_response(part, where.attempt)

    async def _read(self, function: Callable[[LiveState], T]) -> T:
        return await asyncio.wrap_future(self._master.read(function))


def _submission(spec: Mapping[str, Any], user: str, key: str) -> Submit | SubmitArray:
    """Raises BadInput. An array may have a thousand jobs: not in the thread of the event loop."""
    if is_array(spec):
        return SubmitArray(array_spec(spec), user, key)
    return Submit(job_spec(spec), user, key)


def _require_files(given: Submit | SubmitArray, snapshots: SnapshotStore) -> None:
    """Raises BadInput."""
    specs = [given.spec] if isinstance(given, Submit) else [each for _, each in given.spec.jobs]
    names = snapshots.names(specs[0].snapshot)
    for spec in specs:
        if names is None:
            require_visible_files(spec)
        else:
            require_snapshot_files(spec, names)


def _page(state: LiveState, number: int, workplace: Workplace) -> dict[str, Any]:
    if number in state.arrays:
        return array_page(state, number)
    return job_page(state, number, workplace)


def _log_response(part: LogPart, attempt: int) -> Response:
    return Response(
        part.data,
        media_type="application/octet-stream",
        headers={
            "Motet-Attempt": str(attempt),
            "Motet-Next-Offset": str(part.next_offset),
            "Motet-Log-Complete": "true" if part.is_complete else "false",
            "Motet-Log-Size": str(part.size),
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
    told = wrong_value(first, PATTERNS)
    return problem(422, f"{place}: {told}" if place else told)


def _refuse_storage(request: Request, error: Exception) -> JSONResponse:
    """A disk that is full, or a database that cannot be written. Raises other errors again."""
    if isinstance(error, OSError) and error.errno not in _STORAGE_ERRORS:
        raise error
    reason = error.orig if isinstance(error, DBAPIError) else getattr(error, "strerror", None)
    _LOG.error("storage_failed", extra={"fields": {"path": request.url.path, "error": str(error)}})
    return problem(503, f"the server cannot write to its storage ({reason or error})")


def _refuse_request(request: Request, error: Exception) -> JSONResponse:
    """A path, a method or a body that the framework does not accept."""
    del request
    assert isinstance(error, HTTPException)
    return problem(error.status_code, str(error.detail))
