"""Routes of queues, and of a job's queue, priority and time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from motet.domain.errors import NotFound, UnknownName
from motet.domain.queues.queue_file import KEYS
from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.accounts.job_access import require_use
from motet.live.accounts.roles import Caller, UserRole
from motet.live.jobs.job_sections import Duration
from motet.live.master.job_updates import UpdateJob
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState
from motet.live.queues.queue_book import LiveQueue
from motet.live.queues.queue_changes import (
    CreateQueue,
    DeleteQueue,
    LimitQueue,
    QueueRequest,
    SetQueueMode,
)
from motet.live.queues.queue_facts import QueueMode
from motet.live.queues.queue_loads import QueueLoad, QueueLoads

QueueVerb: TypeAlias = Literal["hold", "drain", "resume"]
QUEUE_MODES: Mapping[QueueVerb, QueueMode] = {
    "hold": "held",
    "drain": "draining",
    "resume": "open",
}


class JobUpdateRequest(BaseModel):
    """`priority`, `queue`: null: as it is. `max_duration`: if it is not given, as it is; null: no
    limit; users may lower that of their jobs, admins may raise or remove it."""

    model_config = ConfigDict(extra="forbid")

    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    queue: str | None = None
    max_duration: Duration | None = None

    @property
    def limit_s(self) -> float | None:
        """As UpdateJob has it."""
        is_given = "max_duration" in self.model_fields_set
        return self.max_duration or 0.0 if is_given else None


class QueueLimitsRequest(BaseModel):
    """Keys that are not given stay as they are; null: no limit."""

    model_config = ConfigDict(extra="forbid")

    guarantee: int | None = None
    borrow: int | None = None
    lend: int | None = None

    def changes(self) -> dict[str, int | None]:
        """The keys that were given."""
        return {key: getattr(self, key) for key in KEYS if key in self.model_fields_set}


class NewQueueRequest(QueueLimitsRequest):
    """A queue to create."""

    name: str


def add_queue_routes(
    app: FastAPI,
    master: MasterLoop,
    describe: Callable[[int, Caller], Awaitable[dict[str, Any]]],
) -> None:
    """Add the routes. `describe`: the page of a job."""

    async def update(
        number: int, wanted: JobUpdateRequest, caller: RequestCaller
    ) -> dict[str, Any]:
        """Give a job another priority, queue or time limit."""
        await require_use(master, caller, number)
        values = wanted.priority, wanted.queue, wanted.limit_s
        may_raise = caller.role is UserRole.ADMIN
        given = UpdateJob(number, caller.user, *values, may_raise_limit=may_raise)
        await asyncio.wrap_future(master.ask(given))
        return await describe(number, caller)

    routes, place = QueueRoutes(master), "/api/v1/queues"
    app.add_api_route("/api/v1/jobs/{number}", update, methods=["PATCH"])
    app.add_api_route(place, routes.show)
    app.add_api_route(place, routes.create, methods=["POST"], status_code=201)
    app.add_api_route(place + "/{name}", routes.describe)
    app.add_api_route(place + "/{name}", routes.limit, methods=["PATCH"])
    app.add_api_route(place + "/{name}", routes.delete, methods=["DELETE"])
    app.add_api_route(place + "/{name}/{verb}", routes.set_mode, methods=["POST"])


class QueueRoutes:
    """What the API does with queues."""

    def __init__(self, master: MasterLoop) -> None:
        self._master = master

    async def show(self) -> dict[str, Any]:
        """All queues."""
        return {"queues": await self._documents()}

    async def describe(self, name: str) -> dict[str, Any]:
        """A queue."""
        found = await self._documents()
        for each in found:
            if each["name"] == name:
                return each
        raise NotFound(str(UnknownName("queue", name[:80], [each["name"] for each in found])))

    async def create(self, wanted: NewQueueRequest, caller: RequestCaller) -> dict[str, Any]:
        """Create a queue, or change the limits of one that exists."""
        return await self._ask(CreateQueue(wanted.name, caller.user, wanted.changes()), wanted.name)

    async def limit(
        self, name: str, wanted: QueueLimitsRequest, caller: RequestCaller
    ) -> dict[str, Any]:
        """Give a queue other limits."""
        await self.describe(name)
        return await self._ask(LimitQueue(name, caller.user, wanted.changes()), name)

    async def set_mode(self, name: str, verb: QueueVerb, caller: RequestCaller) -> dict[str, Any]:
        """Hold, drain or resume a queue."""
        await self.describe(name)
        return await self._ask(SetQueueMode(name, caller.user, QUEUE_MODES[verb]), name)

    async def delete(self, name: str, caller: RequestCaller) -> dict[str, Any]:
        """Delete a queue without jobs."""
        await self.describe(name)
        await asyncio.wrap_future(self._master.ask(DeleteQueue(name, caller.user)))
        return {"name": name}

    async def _ask(self, given: QueueRequest, name: str) -> dict[str, Any]:
        await asyncio.wrap_future(self._master.ask(given))
        return await self.describe(name)

    async def _documents(self) -> list[dict[str, Any]]:
        return await asyncio.wrap_future(self._master.read(queue_documents))


def queue_documents(state: LiveState) -> list[dict[str, Any]]:
    """All queues by number: slots held, borrowed and lent, jobs that run and wait, limits, mode.

    `waiting`: jobs that are pending, preempted, suspended or held for others.
    """
    loads, queues = QueueLoads(state.open_jobs, state.active.values()), state.queue_book.present
    return [_document(name, queue, loads.of(name)) for name, queue in queues.items()]


def _document(name: str, queue: LiveQueue, load: QueueLoad) -> dict[str, Any]:
    limits = queue.limits
    return {
        "name": name,
        "slots": load.slots,
        "running": load.running,
        "waiting": load.waiting,
        "guarantee": limits.guarantee,
        "borrow": limits.borrow,
        "lend": limits.lend,
        "borrowed": max(load.slots - limits.guarantee, 0),
        "idle_guarantee": max(limits.guarantee - load.slots, 0),
        "mode": queue.mode,
    }
