"""Addresses of the pages, signing in, and what buttons do."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.staticfiles import StaticFiles

from motet.domain.errors import MotetError, NotFound
from motet.interfaces.server.accounts.caller_of_request import (
    RequestCaller,
    is_still_valid,
)
from motet.interfaces.server.accounts.job_access import require_use
from motet.interfaces.server.api_contract.api_description import EVENT_STREAM
from motet.interfaces.server.logs import LogPlace, logged_job
from motet.interfaces.server.predictions.start_predictions import StartPredictions
from motet.interfaces.server.turns.turn_record import with_job_names
from motet.interfaces.server.web import pages
from motet.interfaces.server.web.changes import Changes
from motet.interfaces.server.web.decided import decided
from motet.interfaces.server.web.drawings import bars, machine_slots, period_of, ticks
from motet.interfaces.server.web.job_filter import job_query
from motet.interfaces.server.web.job_log import JobLogs, ShownLog, addressed_place
from motet.interfaces.server.web.queue_page import QueuePage
from motet.interfaces.server.web.renderer import PAGE_HEADERS, PageRenderer, page_before
from motet.interfaces.server.web.timeline.timeline_page import TimelinePage
from motet.interfaces.server.web.timeline.turn_lanes import machine_lanes, turns_of_machines
from motet.interfaces.server.web.training_curves import training_curves
from motet.live.accounts.roles import Forbidden
from motet.live.launcher.rank_files import checkpoint_writes_us
from motet.live.master.facts import Verb
from motet.live.master.intake import Change
from motet.live.master.loop import MasterLoop
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.read_tables.read_tables import ReadTables
from motet.live.read_tables.rows import attempt_row

T = TypeVar("T")

_VERBS: tuple[Verb, ...] = get_args(Verb)


class WebPages:
    """All pages of one server."""

    def __init__(
        self,
        master: MasterLoop,
        tables: ReadTables,
        workplace: Workplace,
        changes: Changes,
        renderer: PageRenderer,
        predictions: StartPredictions,
    ) -> None:
        self._master, self._tables, self._workplace = master, tables, workplace
        self._changes, self._predictions, self._pages = changes, predictions, renderer
        self._logs = JobLogs(master, workplace, changes)

    def add_to(self, app: FastAPI) -> None:
        """Add the routes."""
        self._logs.add_to(app)
        QueuePage(self._master, self._pages).add_to(app)
        TimelinePage(self._master, self._tables, self._predictions, self._pages).add_to(app)
        static = StaticFiles(directory=Path(__file__).parent / "static")
        app.mount("/static", static)
        for path, page in (
            ("/", self.overview),
            ("/jobs", self.jobs),
            ("/jobs/{number}", self.job),
            ("/machines", self.machines),
            ("/decisions", self.decisions),
            ("/events", self.events),
        ):
            app.add_api_route(path, page, include_in_schema=False, response_model=None)
        app.add_api_route(
            "/api/v1/events",
            self.events,
            response_class=StreamingResponse,
            response_model=None,
            responses=EVENT_STREAM,
        )
        for path, action in (("/jobs/{number}/{verb}", self.change),):
            app.add_api_route(
                path, action, methods=["POST"], include_in_schema=False, response_model=None
            )

    # -- pages -------------------------------------------------------------------------------------

    async def overview(self, request: Request) -> Response:
        """The cluster at a glance."""
        counts = await asyncio.to_thread(self._tables.counts)
        found = await self._read(pages.overview)
        machines = found["machines"]
        more = {"counts": counts, "largest_free": pages.largest_free(machines)}
        return self._pages.render(request, "overview.html", {**found, **more})

    async def jobs(self, request: Request) -> Response:
        """A page of the jobs, filtered and sorted."""
        given = request.query_params
        query = job_query(given, given.getlist("state"))
        found = await asyncio.to_thread(self._tables.find, query)
        document = await self._read(
            lambda state: pages.jobs_page(state, found.numbers, query.array)
        )
        return self._pages.render(
            request, "jobs.html", {**document, "query": query, "found": found}
        )

    async def job(self, request: Request, number: int, caller: RequestCaller) -> Response:
        """One job: why it waits, where it ran, what it printed."""
        now_us = time.time_ns() // 1000
        checkpoints = self._workplace.checkpoint_folder(number)
        writes_us = await asyncio.to_thread(checkpoint_writes_us, checkpoints)
        given = request.query_params
        rank, attempt = _count(given.get("rank")), _count(given.get("attempt"))

        def read(state: LiveState) -> dict[str, Any]:
            job = state.job(number)
            begin_us, end_us = period_of(job, now_us)
            rows = [attempt_row(job, each) for each in job.attempts]
            return {
                **pages.common(state),
                "job": pages.job(state, number, self._workplace, now_us, writes_us),
                "bars": bars(rows, begin_us, end_us),
                "ticks": ticks(begin_us, end_us),
            }

        if await self._read(lambda state: number in state.arrays):
            return RedirectResponse(f"/jobs?array={number}", 303)
        try:
            document = await self._read(read)
            is_usable = caller.may_use(document["job"]["user"])
            log = await self._log_of(number, attempt, rank) if is_usable else None
        except NotFound as error:
            return self._pages.error(request, 404, str(error))
        folder = self._workplace.results_folder(number)
        curves = await asyncio.to_thread(training_curves, folder)
        spec = json.dumps(document["job"]["spec"], indent=2, ensure_ascii=False)
        more = {
            "is_usable": is_usable,
            "log": log,
            "curves": curves,
            "spec": spec,
            "expected_start": pages.expected_start(self._predictions.of(number, now_us), now_us),
        }
        return self._pages.render(request, "job.html", {**document, **more})

    async def machines(self, request: Request) -> Response:
        """Every slot of every machine."""

        def read(state: LiveState) -> dict[str, Any]:
            found = machine_slots(state)
            largest = pages.largest_free(found)
            return {**pages.common(state, found), "machines": found, "largest_free": largest}

        document = await self._read(read)
        machines = [each.machine for each in document["machines"]]
        found = await asyncio.to_thread(turns_of_machines, self._workplace, machines)
        named = await self._read(lambda state: [with_job_names(state, each) for each in found])
        lanes = await asyncio.to_thread(lambda: [machine_lanes(each) for each in named])
        return self._pages.render(request, "machines.html", {**document, "lanes": lanes})

    async def decisions(self, request: Request) -> Response:
        """What was decided at every moment, and why."""
        page = _count(request.query_params.get("page"))
        document = await self._read(lambda state: decided(state, page))
        return self._pages.render(request, "decisions.html", document)

    async def events(self, request: Request, caller: RequestCaller) -> Response:
        """A stream of server-sent events that tells when something has changed: `changed` after
        changes of jobs or machines, at most twice a second."""
        if self._changes.is_full(caller.user):
            return Response("too many open pages", 503, media_type="text/plain")
        told = self._changes.stream(caller.user, partial(is_still_valid, request))
        return StreamingResponse(told, media_type="text/event-stream", headers=PAGE_HEADERS)

    # -- actions -----------------------------------------------------------------------------------

    async def change(
        self, request: Request, number: int, verb: str, caller: RequestCaller
    ) -> Response:
        """Cancel, suspend or resume a job, and show the page on which the button was."""
        wanted = next((each for each in _VERBS if each == verb), None)
        if wanted is None:
            return self._pages.error(request, 404, f"jobs cannot be {verb[:20]!r}")
        try:
            await require_use(self._master, caller, number)
            await asyncio.wrap_future(self._master.ask(Change(number, wanted, caller.user)))
        except Forbidden as error:
            return self._pages.error(request, 403, str(error))
        except MotetError as error:
            return self._pages.error(request, 409, str(error))
        return RedirectResponse(page_before(request, f"/jobs/{number}", self._pages.root_path), 303)

    # -- rendering ---------------------------------------------------------------------------------

    async def _read(self, function: Callable[[LiveState], T]) -> T:
        return await asyncio.wrap_future(self._master.read(function))

    async def _log_of(self, number: int, attempt: int, rank: int) -> ShownLog | None:
        """That of the last attempt unless there is another one of this number; None: of none.

        A page that shows a process of the last attempt shows its first one when the next attempt
        has fewer.
        """

        def read(state: LiveState) -> LogPlace | None:
            logged = logged_job(state, number)
            attempts = len(logged.attempts)
            chosen = min(attempt or attempts, attempts)
            if not chosen:
                return None
            ranks = logged.ranks_of(logged.attempts[chosen - 1])
            is_of_another = not attempt and ranks <= rank < logged.spec.processes
            return addressed_place(state, number, chosen, 0 if is_of_another else rank)

        place = await self._read(read)
        return None if place is None else await self._logs.end_of(place)


def _count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 9 else 0
