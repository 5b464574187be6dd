"""The pages of replays: the form and the list, one replay, and two side by side."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from motet.domain.errors import BadInput
from motet.interfaces.server.accounts.caller_of_request import RequestCaller, note_target
from motet.interfaces.server.predictions.routes import names_file
from motet.interfaces.server.web.pages import common
from motet.interfaces.server.web.renderer import PageRenderer
from motet.interfaces.server.what_if.replay_form import PERIODS, policies, wanted_replay
from motet.interfaces.server.what_if.replay_runs import ReplayRuns
from motet.interfaces.server.what_if.replay_store import ReplayStore, ReplayUnderWay, StoredReplay
from motet.interfaces.server.what_if.replay_view import (
    SHARES,
    is_same_period,
    replay_line,
    replay_report,
    replay_runs,
)
from motet.live.accounts.roles import Caller, Forbidden, UserRole
from motet.live.master.loop import MasterLoop
from motet.live.master.policy_choice import policy_of

_UNKNOWN = "there is no such replay, or it was deleted: only the latest ones are kept"


class ReplayPages:
    """The pages below /whatif."""

    def __init__(
        self, master: MasterLoop, store: ReplayStore, runs: ReplayRuns, renderer: PageRenderer
    ) -> None:
        self._master, self._store, self._runs, self._pages = master, store, runs, renderer

    def add_to(self, app: FastAPI) -> None:
        """Add the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "response_model": None}
        app.add_api_route("/whatif", self.list, **hidden)
        app.add_api_route("/whatif", self.start, methods=["POST"], **hidden)
        app.add_api_route("/whatif/{number}", self.show, **hidden)
        app.add_api_route("/whatif/{number}/{verb}", self.change, methods=["POST"], **hidden)

    async def list(self, request: Request, caller: RequestCaller) -> Response:
        """The form and all replays."""
        return await self._form(request, caller, {}, "", 200)

    async def start(self, request: Request, caller: RequestCaller) -> Response:
        """Begin a replay and lead to its page; a wrong form is shown again."""
        form = parse_qs((await request.body()).decode(errors="replace"))
        given = {name: values[0] for name, values in form.items()}
        try:
            wanted = wanted_replay(given, datetime.now().astimezone())
            if names_file(wanted.policy, wanted.settings):
                caller.require(UserRole.ADMIN)
            policy_of(wanted.policy, wanted.settings)
            number = await self._runs.start(caller.user, wanted)
        except Forbidden as error:
            return await self._form(request, caller, given, str(error), 403)
        except ReplayUnderWay as error:
            return await self._form(request, caller, given, str(error), 409)
        except BadInput as error:
            return await self._form(request, caller, given, str(error), 422)
        note_target(request, f"replay {number}")
        return RedirectResponse(f"/whatif/{number}", 303)

    async def show(self, request: Request, number: int, caller: RequestCaller) -> Response:
        """One replay: what it is doing, or its result; `with`: beside another one."""
        replay = await asyncio.to_thread(self._store.find, number)
        if replay is None:
            return self._pages.error(request, 404, _UNKNOWN)
        given = request.query_params.get("with", "")
        other = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
        document = await asyncio.wrap_future(self._master.read(common))
        found = await asyncio.to_thread(self._results, number, other)
        document |= {
            "replay": replay_line(replay),
            "phase": self._runs.phase(number),
            "may_change": _may_change(caller, replay),
            "shares": SHARES,
            **found,
        }
        return self._pages.render(request, "replay.html", document)

    async def change(
        self, request: Request, number: int, verb: str, caller: RequestCaller
    ) -> Response:
        """Stop or delete a replay."""
        replay = await asyncio.to_thread(self._store.find, number)
        if replay is None or verb not in ("stop", "delete"):
            return self._pages.error(request, 404, _UNKNOWN)
        if not _may_change(caller, replay):
            return self._pages.error(request, 403, f"replay {number} belongs to {replay.user}")
        if verb == "stop":
            await self._runs.stop(number)
            return RedirectResponse(f"/whatif/{number}", 303)
        await asyncio.to_thread(self._store.delete, number)
        return RedirectResponse("/whatif", 303)

    async def _form(
        self,
        request: Request,
        caller: Caller,
        given: Mapping[str, str],
        problem: str,
        status: int,
    ) -> Response:
        document = await asyncio.wrap_future(self._master.read(common))
        replays = [replay_line(each) for each in await asyncio.to_thread(self._store.all)]
        names = ("policy", "settings", "period", "moment")
        document |= {
            "given": {name: given.get(name, "") for name in names},
            "problem": problem,
            "policies": policies(),
            "periods": [*PERIODS],
            "may_start": caller.role.includes(UserRole.USER),
            "replays": replays,
        }
        return self._pages.render(request, "whatif.html", document, status)

    def _results(self, number: int, other: int) -> dict[str, Any]:
        """What the page shows of one or two results."""
        summary = self._store.result(number)
        if summary is None:
            return {"report": None, "runs": [], "curves": "", "others": [], "second": None}
        second = self._store.result(other) if other not in (0, number) else None
        beside = None if second is None else (other, second)
        rows = replay_runs(number, summary, beside)
        done = [replay_line(each) for each in self._store.all() if each.number != number]
        return {
            "report": replay_report(summary),
            "runs": rows,
            "curves": json.dumps([each["curve"] for each in rows]),
            "others": [each for each in done if each["is_done"]],
            "second": second
            and {
                "number": other,
                "is_same_period": is_same_period(summary, second),
                **replay_report(second),
            },
        }


def _may_change(caller: Caller, replay: StoredReplay) -> bool:
    return caller.may_use(replay.user)
