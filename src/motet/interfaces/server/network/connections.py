"""Connections of the HTTP server: those of strangers are few, and end soon.

Every user of the machine can connect to a port of 127.0.0.1. Without these limits, connections
that bring no request, or only the head of one, or do not read its answer, would use up the file
descriptors of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar, cast

from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_WITHIN_S, ANSWER_WITHIN_S = 5.0, 15.0
MOST_OF_STRANGERS = 200
_KNOWN_KEY = "motet.is_known"


def note_known(scope: Scope) -> None:
    """The request has a valid token: its connection is limited no more."""
    note: Callable[[], None] | None = scope.get(_KNOWN_KEY)
    if note is not None:
        note()


class LimitedConnection(H11Protocol):
    """Closes itself if no complete head of a request arrives in time, or if the request of a
    stranger has not been sent and its answer read in time. The oldest of too many connections of
    strangers is closed at once."""

    _of_strangers: ClassVar[dict[LimitedConnection, None]] = {}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._end_within(REQUEST_WITHIN_S)
        self._of_strangers[self] = None
        if len(self._of_strangers) > MOST_OF_STRANGERS:
            oldest = next(iter(self._of_strangers))
            oldest._be_known()
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Part of a request. It is answered after this."""
        before: object = self.cycle
        super().data_received(data)
        if self.cycle is not before and self._deadline is not None:
            if before is None:
                self._end_within(ANSWER_WITHIN_S)
            scope = cast(dict[str, object], self.cycle.scope)
            scope[_KNOWN_KEY] = self._be_known

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        super().connection_lost(exc)
        self._be_known()

    def _end_within(self, time_s: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(time_s, self.transport.abort)

    def _be_known(self) -> None:
        self._of_strangers.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
