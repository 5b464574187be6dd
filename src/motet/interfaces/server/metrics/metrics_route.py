"""`GET /metrics`, for Prometheus."""

from __future__ import annotations

import asyncio

from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from motet.interfaces.server.access import METRICS_PATH
from motet.interfaces.server.metrics.http_latency import HttpLatency
from motet.interfaces.server.metrics.server_metrics import ServerMetrics


def add_metrics(app: FastAPI, metrics: ServerMetrics) -> None:
    """Add the route, and measure all others."""

    async def show() -> Response:
        text = await asyncio.to_thread(metrics.text)
        return Response(text, media_type=CONTENT_TYPE_LATEST)

    app.add_api_route(METRICS_PATH, show, include_in_schema=False, response_model=None)
    app.add_middleware(HttpLatency, answered=metrics.answered)
