"""Routes of queues, and of a job's queue and priority."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.accounts.job_access import require_use
from motet.live.accounts.roles import Caller
from motet.live.master.job_updates import CreateQueue, UpdateJob
from motet.live.master.loop import MasterLoop
from motet.live.master.state import LiveState


class JobUpdateRequest(BaseModel):
    """None: as it is."""

    model_config = ConfigDict(extra="forbid")

    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    queue: str | None = None


class QueueRequest(BaseModel):
    """A queue to create."""

    model_config = ConfigDict(extra="forbid")

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
        """Give a job another priority or queue."""
        await require_use(master, caller, number)
        given = UpdateJob(number, caller.user, wanted.priority, wanted.queue)
        await asyncio.wrap_future(master.ask(given))
        return await describe(number, caller)

    async def show() -> dict[str, Any]:
        """All queues."""
        return await asyncio.wrap_future(master.read(queues_document))

    async def create(wanted: QueueRequest, caller: RequestCaller) -> dict[str, Any]:
        """Create a queue, unless it exists."""
        await asyncio.wrap_future(master.ask(CreateQueue(wanted.name, caller.user)))
        return {"name": wanted.name}

    app.add_api_route("/api/v1/jobs/{number}", update, methods=["PATCH"])
    app.add_api_route("/api/v1/queues", show)
    app.add_api_route("/api/v1/queues", create, methods=["POST"], status_code=201)


def queues_document(state: LiveState) -> dict[str, Any]:
    """`{"queues": [...]}`: jobs that wait (or are suspended) and run, and slots that they hold."""
    slots, runs, waits = Counter[str](), Counter[str](), Counter[str]()
    for job in state.jobs.values():
        queue = job.spec.queue
        if (attempt := job.attempt) is not None:
            runs[queue] += 1
            slots[queue] += attempt.processes
        elif not job.state.is_final:
            waits[queue] += 1
    return {
        "queues": [
            {"name": name, "slots": slots[name], "running": runs[name], "waiting": waits[name]}
            for name in state.queues
        ]
    }
