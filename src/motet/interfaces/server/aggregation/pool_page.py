"""The page of the pool: Aggregators with the load of their cycles, jobs with their losses, and
where the tensors of a job are."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from motet.domain.errors import MotetError, Unreachable
from motet.interfaces.server.aggregation.routes import NO_POOL, PoolDocuments
from motet.interfaces.server.web.pages import common
from motet.interfaces.server.web.renderer import PageRenderer
from motet.live.master.loop import MasterLoop


class PoolPage:
    """The pages of one server."""

    def __init__(
        self, master: MasterLoop, documents: PoolDocuments, renderer: PageRenderer
    ) -> None:
        self._master, self._documents, self._pages = master, documents, renderer

    def add_to(self, app: FastAPI) -> None:
        """Add the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "response_model": None}
        app.add_api_route("/aggregators", self.pool, **hidden)
        app.add_api_route("/aggregators/jobs/{number}", self.tensors, **hidden)

    async def pool(self, request: Request) -> Response:
        """All Aggregators and their jobs."""
        shown = await asyncio.wrap_future(self._master.read(common))
        if not self._documents.has_pool:
            return self._pages.render(request, "aggregators.html", {**shown, "problem": NO_POOL})
        try:
            document = await self._documents.pool()
        except Unreachable as error:
            values = {**shown, "problem": str(error)}
            return self._pages.render(request, "aggregators.html", values)
        return self._pages.render(request, "aggregators.html", {**shown, **pool_values(document)})

    async def tensors(self, request: Request, number: int) -> Response:
        """Where the tensors of a job are, and why."""
        try:
            document = await self._documents.tensors(number)
        except MotetError as error:
            status = 503 if isinstance(error, Unreachable) else 404
            return self._pages.error(request, status, str(error))
        shown = await asyncio.wrap_future(self._master.read(common))
        values = {**shown, **tensor_values(document)}
        return self._pages.render(request, "aggregator_job.html", values)


def pool_values(document: dict[str, Any]) -> dict[str, Any]:
    """What the template shows: rows with parts of bars in per cent."""
    jobs = [_job_row(each) for each in document["jobs"]]
    return {
        "problem": "",
        "aggregators": [_aggregator_row(each) for each in document["aggregators"]],
        "has_links": any(each["link_share"] for each in document["aggregators"]),
        "jobs": jobs,
        "over": sum(each["is_over"] for each in jobs),
        "most": document["most_aggregators"],
        "loss_limit": _percent(document["loss_limit"]),
    }


def tensor_values(document: dict[str, Any]) -> dict[str, Any]:
    """A job and its tensors by the Aggregators that have them."""
    tensors = [
        {
            **each,
            "size": "x".join(map(str, each["shape"])) or "scalar",
            "cpu": _ms(each["cpu_ns"]),
        }
        for each in document["tensors"]
    ]
    return {"job": _job_row(document["job"]), "tensors": tensors}


def _aggregator_row(each: dict[str, Any]) -> dict[str, Any]:
    has_cycle = bool(each["cycle_ns"])
    return {
        **each,
        "state": _state(each),
        "cycle": _ms(each["cycle_ns"]) if has_cycle else "",
        "used": _percent(each["used_share"]) if has_cycle else "",
        "used_part": round(min(100 * each["used_share"], 100.0), 1) if has_cycle else 0.0,
        "link": _percent(each["link_share"]) if has_cycle else "",
        "memory": f"{each['memory_bytes'] / 1e6:.1f} MB",
    }


def _state(aggregator: dict[str, Any]) -> str:
    if not aggregator["is_running"]:
        return "starting"
    return "draining" if aggregator.get("is_draining") else "running"


def _job_row(each: dict[str, Any]) -> dict[str, Any]:
    """The bar of a loss ends at twice the limit."""
    loss, limit = each["measured_loss"], each["loss_limit"]
    return {
        **each,
        "label": each["job_name"] or each["name"],
        "iteration": _ms(each["iteration_ns"]),
        "alone": _ms(each["alone_ns"]),
        "loss": "" if loss is None else _percent(loss),
        "limit": _percent(limit),
        "predicted": "" if each["predicted_loss"] is None else _percent(each["predicted_loss"]),
        "loss_part": 0.0 if loss is None else round(min(100 * loss / (2 * limit), 100.0), 1),
        "is_over": loss is not None and loss >= limit,
        "model": f"{each['model_bytes'] / 1e6:.1f} MB" if each["model_bytes"] else "",
    }


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _ms(duration_ns: int | None) -> str:
    return "" if not duration_ns else f"{duration_ns / 1e6:.3g} ms"
