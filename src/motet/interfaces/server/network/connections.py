"""Connections of the HTTP server: those that bring no request are closed.

Every user of the machine can connect to a port of 127.0.0.1. Without these limits, idle
connections of a stranger would use up the file descriptors of the server.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_WITHIN_S = 5.0
MOST_WITHOUT_REQUEST = 200


class LimitedConnection(H11Protocol):
    """Closes itself if no complete head of a request arrives in time; the oldest of too many such
    connections is closed at once."""

    _without_request: ClassVar[dict[LimitedConnection, None]] = {}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(REQUEST_WITHIN_S, transport.abort)
        self._without_request[self] = None
        if len(self._without_request) > MOST_WITHOUT_REQUEST:
            oldest = next(iter(self._without_request))
            oldest._stop_waiting()
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Part of a request."""
        super().data_received(data)
        if self.cycle is not None:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        self._without_request.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
