"""Routes of the policy in force: `GET` and `PUT /api/v1/policy`."""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.kernels.compiled import Kernels
from motet.interfaces.server.views import iso
from motet.live.master.intake import ChoosePolicy
from motet.live.master.loop import MasterLoop, MasterStopped
from motet.live.master.policy_choice import parameters_in_force, policy_of
from motet.live.master.state import LiveState


class PolicyRequest(BaseModel):
    """A policy and its parameters as text."""

    model_config = ConfigDict(extra="forbid")

    policy: Annotated[str, Field(min_length=1, max_length=4096)]
    settings: dict[str, str] = Field(default_factory=dict)


def add_policy_routes(app: FastAPI, master: MasterLoop, kernels: Kernels) -> None:
    """Add the routes. `kernels`: those of a policy are compiled before it is put in force."""

    async def show() -> dict[str, Any]:
        """The policy in force."""
        return await asyncio.wrap_future(master.read(policy_document))

    async def choose(wanted: PolicyRequest, caller: RequestCaller) -> dict[str, Any]:
        """Put another policy in force, or the same one with other parameters. The first time after
        an installation this may take a minute, in which the policy before decides."""
        given = ChoosePolicy(wanted.policy, wanted.settings, caller.user)
        await asyncio.to_thread(policy_of, given.policy, given.settings)
        await asyncio.to_thread(kernels.prepare, given)
        if kernels.is_closed:  # The master would compile them now, and the server end late.
            raise MasterStopped("the server is stopping; ask again later")
        await asyncio.wrap_future(master.ask(given))
        return await show()

    app.add_api_route("/api/v1/policy", show)
    app.add_api_route("/api/v1/policy", choose, methods=["PUT"])


def policy_document(state: LiveState) -> dict[str, Any]:
    """The policy in force: `settings` as they were given, `parameters` with all defaults.

    `failure`: why it decides no more; None: it does.
    """
    since_us, chosen = state.policies[-1]
    values = parameters_in_force(state)
    parameters = {name: _plain(value) for name, value in values.items()}
    return {
        "policy": chosen.policy,
        "settings": dict(chosen.settings),
        "parameters": parameters,
        "since": iso(since_us),
        "user": chosen.user or None,
        "needs_durations": chosen.needs_durations,
        "failure": state.policy_failure or None,
    }


def _plain(value: Any) -> Any:
    """Infinity as text: JSON has none."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
