"""Routes of what is simulated from the journal: what-if, dry runs, coverage of predictions."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from motet.interfaces.server.accounts.caller_of_request import RequestCaller
from motet.interfaces.server.api_contract.api_description import told_lines
from motet.interfaces.server.predictions.program import ForecastProgram
from motet.interfaces.server.predictions.start_predictions import StartPredictions
from motet.interfaces.server.predictions.told_answers import TOLD_LINES, told_answer
from motet.live.accounts.roles import UserRole

_NAME = re.compile("[A-Za-z0-9-]+")


class WhatIfRequest(BaseModel):
    """A policy, its parameters as text, and the beginning of the period; None: all jobs."""

    model_config = ConfigDict(extra="forbid")

    policy: Annotated[str, Field(min_length=1, max_length=4096)]
    settings: dict[str, str] = Field(default_factory=dict)
    since: AwareDatetime | None = None


def add_forecast_routes(
    app: FastAPI, program: ForecastProgram, predictions: StartPredictions
) -> None:
    """Add the routes."""

    async def coverage() -> dict[str, Any]:
        """How good the predictions of starts were; `coverage`: None: there are none yet."""
        return {"coverage": predictions.coverage}

    async def what_if(wanted: WhatIfRequest, caller: RequestCaller) -> Response:
        """The journal replayed under another policy. Only an admin may name a file: its code runs
        as the server."""
        if names_file(wanted.policy, wanted.settings):
            caller.require(UserRole.ADMIN)
        since_us = None if wanted.since is None else round(wanted.since.timestamp() * 1e6)
        values = {
            "policy": wanted.policy,
            "settings": wanted.settings,
            "since_us": since_us,
            "until_us": time.time_ns() // 1000,
        }
        return Response(await program.ask("what_if", values), media_type="application/json")

    async def dry_run(request: Request, spec: dict[str, Any], caller: RequestCaller) -> Response:
        """When a job would start that is submitted now, and which jobs would end later. Who accepts
        application/x-ndjson is told what is being simulated."""
        values = {"spec": spec, "user": caller.user, "now_us": time.time_ns() // 1000}
        if TOLD_LINES in request.headers.get("Accept", ""):
            asked = partial(program.ask, "dry_run", values)
            return StreamingResponse(told_answer(asked), media_type=TOLD_LINES)
        return Response(await program.ask("dry_run", values), media_type="application/json")

    app.add_api_route("/api/v1/predictions", coverage)
    app.add_api_route(
        "/api/v1/dry-run", dry_run, methods=["POST"], responses=told_lines(TOLD_LINES)
    )
    app.add_api_route("/api/v1/whatif", what_if, methods=["POST"])


def names_file(policy: str, settings: Mapping[str, str]) -> bool:
    """Whether a policy or one of its parameters is a file: only an admin may let the server read
    one."""
    values = settings.values()
    return not _NAME.fullmatch(policy) or any(each.startswith("@") for each in values)
