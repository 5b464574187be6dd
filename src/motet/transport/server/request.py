"""A client's request as its handler gets it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from motet.domain.errors import MotetError
from motet.transport.frame_reader import Frame
from motet.transport.framing import (
    ERROR,
    JOIN_BYTES,
    SHARED_PAYLOAD,
    Buffer,
    Piece,
    byte_view,
    check_limits,
    encode_error,
    encode_header,
)
from motet.transport.lanes import LANES
from motet.transport.payload_memory import ReplyTarget
from motet.transport.server.buffer_pool import BufferPool
from motet.transport.server.outbox import OnSent

_LOG = logging.getLogger(__name__)


class ReplyPath(Protocol):
    """The connection on which a request arrived."""

    client_id: str
    is_closed: bool
    pool: BufferPool

    def keep_payloads(self) -> None:
        """Do not overwrite payloads that lie in the receive buffer."""
        ...

    def disconnect(self) -> None:
        """Break the connection, from any thread; replies that are not sent yet are lost."""
        ...

    def send(
        self,
        head: tuple[Piece, ...],
        views: list[memoryview],
        size: int,
        on_sent: OnSent | None,
        lane: int,
    ) -> None:
        """Send a reply (`size` bytes in `views`), or drop it if the connection is lost."""
        ...


class Request:
    """A client's request. The handler answers it exactly once with `reply`.

    `kind`, `meta`, `payload`: what the client submitted; `payload` stays valid until the reply
    (for good after `detach_payload`). `client_id`: the client's name. `is_finished`: whether the
    reply was sent or copied, so that the payload is not needed any more.
    """

    __slots__ = (
        "_buffer",
        "_deferred_s",
        "_is_answered",
        "_lane",
        "_operation",
        "_path",
        "_target",
        "client_id",
        "is_finished",
        "kind",
        "meta",
        "payload",
    )

    def __init__(
        self, path: ReplyPath, frame: Frame, buffer: memoryview | None, target: ReplyTarget | None
    ) -> None:
        """`buffer`: the payload's, from the path's pool. `target`: lent memory for the reply."""
        header = frame.header
        self._path = path
        self._operation = header.operation
        self._lane = header.flags & LANES
        self._buffer = buffer
        self._target = target
        self._is_answered = False
        self.is_finished = False
        self._deferred_s = 0.0
        self.client_id = path.client_id
        self.kind = header.code
        self.meta = frame.meta
        self.payload = frame.payload

    @property
    def is_connected(self) -> bool:
        """Whether a reply can still reach the client on this connection."""
        return not self._path.is_closed

    def disconnect(self) -> None:
        """Break the connection on which the request arrived, from any thread.

        `on_sent` of replies that are not sent yet is called soon.
        """
        self._path.disconnect()

    @property
    def is_answered(self) -> bool:
        """Whether `reply` or `fail` has been called."""
        return self._is_answered

    def detach_payload(self) -> memoryview:
        """Return the payload; it stays valid after the reply."""
        if self._buffer is None:
            self.payload = memoryview(self.payload.tobytes())
        self._buffer = None
        return self.payload

    def reply(
        self,
        status: int = 0,
        meta: bytes | memoryview = b"",
        buffers: Sequence[Buffer] = (),
        on_sent: OnSent | None = None,
    ) -> None:
        """Answer from any thread; never blocks on the client.

        `buffers` (contiguous) are sent in order as one payload and must not change until
        `on_sent()` is called: once, on any thread, also if the connection is lost.
        """
        views = [byte_view(buffer) for buffer in buffers]
        size = sum(map(len, views)) if views else 0
        check_limits(status, len(meta), size)
        self._claim()
        if self._target is not None and size > JOIN_BYTES and self._fill(self._target, views, size):
            self._send(status, SHARED_PAYLOAD, meta, [], size, None)
            if on_sent is not None:
                on_sent()
        else:
            self._send(status, 0, meta, views, size, on_sent)

    def fail(self, error: BaseException) -> None:
        """Answer with an error that the client raises: of the same class if it is a MotetError."""
        self._claim()
        self._send(0, ERROR, encode_error(error), [], 0, None)

    def mark_deferred(self) -> None:
        """Record that the handler returned without a reply: `wait_us` counts from now."""
        self._deferred_s = time.monotonic()

    def _claim(self) -> None:
        if self._is_answered:
            raise RuntimeError(f"request {self._operation} of {self.client_id} answered twice")
        self._is_answered = True

    def _send(
        self,
        code: int,
        flags: int,
        meta: bytes | memoryview,
        views: list[memoryview],
        size: int,
        on_sent: OnSent | None,
    ) -> None:
        wait_us = int((time.monotonic() - self._deferred_s) * 1e6) if self._deferred_s else 0
        header = encode_header(code, flags, self._operation, 0, len(meta), size, wait_us)
        inline_bytes = size if views else 0
        if inline_bytes > JOIN_BYTES and self.payload:
            on_sent = self._keep_payload_until(on_sent)
        self._path.send((header, meta), views, inline_bytes, on_sent, self._lane)
        if self._buffer is not None:
            self._path.pool.give_back(self._buffer)
            self._buffer = None
        self.is_finished = True

    def _keep_payload_until(self, on_sent: OnSent | None) -> OnSent | None:
        """Keep the request's payload until the reply is sent: the reply may consist of it."""
        buffer, self._buffer = self._buffer, None
        if buffer is None:
            self._path.keep_payloads()
            return on_sent

        def sent() -> None:
            self._path.pool.give_back(buffer)
            if on_sent is not None:
                on_sent()

        return sent

    def _fill(self, target: ReplyTarget, views: list[memoryview], size: int) -> bool:
        """Write the payload to the client's memory; False if that has another size."""
        if size != target.size_bytes:
            return False
        if not self._path.is_closed:
            target.write(views)
        return True


Handler: TypeAlias = Callable[[Request], None]
"""Answers a request, now or later. The client raises what the handler raises."""


def run_handler(handler: Handler, request: Request) -> None:
    """Run the handler; a reply that it does not give before it returns is deferred."""
    try:
        handler(request)
    except Exception as error:
        if not isinstance(error, MotetError):
            _LOG.exception("request %d of %s failed", request.kind, request.client_id)
        if not request.is_answered:
            request.fail(error)
    if not request.is_finished:
        request.mark_deferred()
