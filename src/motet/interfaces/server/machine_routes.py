"""Routes of the machines: what they run, drain and resume."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import FastAPI, Query
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from motet.domain.errors import NotFound, UnknownName
from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.turns.turn_record import LONGEST_S, turns_of, with_job_names
from motet.interfaces.server.views import iso
from motet.live.master.cluster_changes import DrainMachine, ResumeMachine
from motet.live.master.loop import MasterLoop
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState


class DrainRequest(BaseModel):
    """Why a machine is to take no further jobs, and from when on; None: at once."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[str, Field(min_length=1, max_length=400)]
    at: AwareDatetime | None = None


def add_machine_routes(app: FastAPI, master: MasterLoop, workplace: Workplace) -> None:
    """Add the routes."""

    async def subtasks(
        name: str, seconds: Annotated[float, Query(gt=0, le=LONGEST_S)] = 1.0
    ) -> dict[str, Any]:
        """What jobs that share a machine held its CPU and network for, in the last seconds of which
        there is a record."""
        await asyncio.wrap_future(master.read(lambda state: _require_machine(state, name)))
        found = await asyncio.to_thread(turns_of, workplace, name, seconds)
        named = await asyncio.wrap_future(master.read(lambda state: with_job_names(state, found)))
        return named.as_dict()

    async def ask(given: DrainMachine | ResumeMachine) -> dict[str, Any]:
        try:
            await asyncio.wrap_future(master.ask(given))
        except UnknownName as error:
            raise NotFound(str(error)) from error
        return await asyncio.wrap_future(
            master.read(lambda state: machine_document(state, state.machine(given.name)))
        )

    async def show() -> dict[str, Any]:
        """All machines."""
        return await asyncio.wrap_future(master.read(machines_document))

    async def drain(name: str, wanted: DrainRequest, caller: RequestCaller) -> dict[str, Any]:
        """Let a machine take no further jobs; those that it has run on."""
        from_us = None if wanted.at is None else round(wanted.at.timestamp() * 1e6)
        return await ask(DrainMachine(name, wanted.reason, caller.user, from_us))

    async def resume(name: str, caller: RequestCaller) -> dict[str, Any]:
        """Let a drained machine take jobs again, or cancel a planned drain."""
        return await ask(ResumeMachine(name, caller.user))

    app.add_api_route("/api/v1/machines", show)
    app.add_api_route("/api/v1/machines/{name}/subtasks", subtasks)
    app.add_api_route("/api/v1/machines/{name}/drain", drain, methods=["POST"])
    app.add_api_route("/api/v1/machines/{name}/resume", resume, methods=["POST"])


def _require_machine(state: LiveState, name: str) -> None:
    """Raises NotFound for a machine that is not known."""
    try:
        state.machine(name)
    except UnknownName as error:
        raise NotFound(str(error)) from error


def machines_document(state: LiveState) -> dict[str, Any]:
    """`{"machines": [...]}` in the order of their numbers."""
    assert state.cluster is not None
    return {"machines": [machine_document(state, each) for each in range(len(state.cluster.names))]}


def machine_document(state: LiveState, machine: int) -> dict[str, Any]:
    """A machine. `state`: UP, DRAINING (jobs still run), DRAINED, CLOSED (by the cluster), GONE.

    `gpus`: those that are its slots; empty: its slots are parts of a machine without GPUs. `cpus`,
    `memory_bytes`: None: unknown.
    `drain`: None, or its reason, user (None: the server) and time; it may lie in the future.
    """
    assert state.cluster is not None
    name, slots = state.cluster.names[machine], state.cluster.slots[machine]
    used = {
        str(number): attempt.placement.counts[attempt.placement.machines.index(machine)]
        for number, job in sorted(state.active.items())
        if (attempt := job.attempt) is not None and machine in attempt.placement.machines
    }
    drain = state.drains.of.get(name)
    return {
        "name": name,
        "slots": slots,
        "gpus": list(state.cluster.devices_of(machine)),
        "cpus": state.cluster.cpus_of(machine) or None,
        "memory_bytes": state.cluster.memory_of(machine) or None,
        "used_slots": min(sum(used.values()), slots),
        "state": _condition(state, machine, is_used=bool(used)),
        "jobs": used,
        "failures_in_a_row": state.drains.failures.get(name, 0),
        "drain": drain
        and {"reason": drain.reason, "user": drain.user or None, "from": iso(drain.from_us)},
    }


def _condition(state: LiveState, machine: int, *, is_used: bool) -> str:
    assert state.cluster is not None
    condition = state.conditions[machine]
    if condition != "up":
        return condition.upper()
    if state.drains.has_begun(state.cluster.names[machine]):
        return "DRAINING" if is_used else "DRAINED"
    return "UP"
