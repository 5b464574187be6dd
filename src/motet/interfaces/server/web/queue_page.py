"""The page of queues: what each holds of its guarantee, borrows and lends, and its buttons."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from motet.domain.errors import MotetError
from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.queue_routes import QUEUE_MODES, QueueVerb, queue_documents
from motet.interfaces.server.web.pages import common
from motet.interfaces.server.web.renderer import PageRenderer, page_before
from motet.live.accounts.roles import UserRole
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState
from motet.live.queues.queue_changes import SetQueueMode

_VERBS: tuple[QueueVerb, ...] = get_args(QueueVerb)


class QueuePage:
    """The page of one server and what its buttons do."""

    def __init__(self, master: MasterLoop, renderer: PageRenderer) -> None:
        self._master, self._pages = master, renderer

    def add_to(self, app: FastAPI) -> None:
        """Add the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "response_model": None}
        app.add_api_route("/queues", self.show, **hidden)
        app.add_api_route("/queues/{name}/{verb}", self.change, methods=["POST"], **hidden)

    async def show(self, request: Request, caller: RequestCaller) -> Response:
        """All queues."""
        document = await asyncio.wrap_future(self._master.read(queue_page))
        document["may_change"] = caller.role.includes(UserRole.ADMIN)
        return self._pages.render(request, "queues.html", document)

    async def change(
        self, request: Request, name: str, verb: str, caller: RequestCaller
    ) -> Response:
        """Hold, drain or resume a queue, and show the page again."""
        wanted = next((each for each in _VERBS if each == verb), None)
        if wanted is None:
            return self._pages.error(request, 404, f"queues cannot be {verb[:20]!r}")
        given = SetQueueMode(name, caller.user, QUEUE_MODES[wanted])
        try:
            await asyncio.wrap_future(self._master.ask(given))
        except MotetError as error:
            return self._pages.error(request, 409, str(error))
        return RedirectResponse(page_before(request, "/queues", self._pages.root_path), 303)


def queue_page(state: LiveState) -> dict[str, Any]:
    """`queues`: documents with the parts of a bar in per cent of the cluster, and the verbs that
    change them. `lent`: slots of guarantees that other queues hold now."""
    shown, queues = common(state), queue_documents(state)
    total = max(shown["slots"], 1)
    unguaranteed = shown["slots"] - sum(each["guarantee"] for each in queues)
    lent = max(sum(each["borrowed"] for each in queues) - max(unguaranteed, 0), 0)
    return {
        **shown,
        "queues": [{**each, **_bar(each, total), "verbs": _verbs(each["mode"])} for each in queues],
        "lent": lent,
        "has_limits": any(each["guarantee"] or each["borrow"] is not None for each in queues),
    }


def _bar(queue: dict[str, Any], total: int) -> dict[str, Any]:
    own = queue["slots"] - queue["borrowed"]
    most = None if queue["borrow"] is None else queue["guarantee"] + queue["borrow"]
    return {
        "most": most,
        "own_part": _part(own, total),
        "borrowed_part": _part(queue["borrowed"], total),
        "guarantee_part": _part(queue["guarantee"], total),
        "most_part": None if most is None else _part(most, total),
    }


def _part(slots: int, total: int) -> float:
    return round(min(100 * slots / total, 100.0), 2)


def _verbs(mode: str) -> list[QueueVerb]:
    return [verb for verb, leads_to in QUEUE_MODES.items() if leads_to != mode]
