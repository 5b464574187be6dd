"""The page of one decision, which can be replayed from the journal."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from motet.domain.errors import MotetError
from motet.insight.replay_words import policy_words
from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.predictions.program import ForecastProgram
from motet.interfaces.server.web.decided import decided_round
from motet.interfaces.server.web.pages import common
from motet.interfaces.server.web.renderer import PageRenderer
from motet.live.accounts.roles import UserRole
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState

MOST_KEPT = 50
"""Replays of decisions in memory: each can be made again."""
_MOST_LINES = 200


class DecisionPage:
    """The pages below /decisions/TIME; times are Unix microseconds."""

    def __init__(
        self, master: MasterLoop, program: ForecastProgram, renderer: PageRenderer
    ) -> None:
        self._master, self._program, self._pages = master, program, renderer
        self._again: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._busy: set[str] = set()

    def add_to(self, app: FastAPI) -> None:
        """Add the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "response_model": None}
        app.add_api_route("/decisions/{time_us}", self.show, **hidden)
        app.add_api_route("/decisions/{time_us}/replay", self.replay, methods=["POST"], **hidden)

    async def show(self, request: Request, time_us: int, caller: RequestCaller) -> Response:
        """What was decided, and what a replay has decided."""
        document = await self._read(time_us)
        if document is None:
            return self._pages.error(request, 404, "nothing was decided at this time")
        again = self._again.get(time_us)
        document |= {
            "again": again,
            "again_policy": again and policy_words(again["policy"], again["settings"]),
            "may_replay": caller.role.includes(UserRole.USER),
        }
        return self._pages.render(request, "decision.html", document)

    async def replay(self, request: Request, time_us: int, caller: RequestCaller) -> Response:
        """Decide once more; the answer leads to the page."""
        if await self._read(time_us) is None:
            return self._pages.error(request, 404, "nothing was decided at this time")
        if caller.user in self._busy:
            told = "your replay of a decision has not ended yet: wait for it"
            return self._pages.error(request, 409, told)
        self._busy.add(caller.user)
        try:
            answer = await self._program.ask("decision", {"at_us": time_us})
        except MotetError as error:
            return self._pages.error(request, 409, str(error))
        finally:
            self._busy.discard(caller.user)
        self._again[time_us] = json.loads(answer)
        if len(self._again) > MOST_KEPT:
            self._again.popitem(last=False)
        return RedirectResponse(f"/decisions/{time_us}", 303)

    async def _read(self, time_us: int) -> dict[str, Any] | None:
        return await asyncio.wrap_future(self._master.read(lambda state: _decision(state, time_us)))


def _decision(state: LiveState, time_us: int) -> dict[str, Any] | None:
    found = state.history.at(time_us)
    if found is None:
        return None
    return {**common(state), "round": decided_round(state, found, _MOST_LINES, _MOST_LINES)}
