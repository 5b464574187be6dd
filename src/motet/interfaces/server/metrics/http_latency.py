"""Durations of requests by the template of their path."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_NO_ROUTE = "none"


class HttpLatency:
    """Calls `answered(method, route, status, seconds)` at the first byte of every answer.

    Requests that are refused, or that no route matches, have the route "none": their paths are
    chosen by strangers.
    """

    def __init__(self, app: ASGIApp, answered: Callable[[str, str, int, float], None]) -> None:
        self._app, self._answered = app, answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = time.perf_counter()

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in _METHODS else "other"
                spent_s = time.perf_counter() - began_s
                self._answered(method, _route_of(scope), message["status"], spent_s)
            await send(message)

        await self._app(scope, receive, observed)


def _route_of(scope: Scope) -> str:
    template: str = getattr(scope.get("route"), "path", _NO_ROUTE)
    return template
