"""One client's connection at the server, and the requests that come in on it."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence

from motet.domain.errors import MotetError
from motet.transport.authentication import Identity
from motet.transport.buffer_pool import BufferPool
from motet.transport.framing import (
    ERROR,
    JOIN_BYTES,
    Buffer,
    Header,
    ProtocolError,
    byte_view,
    encode_error,
    encode_header,
)
from motet.transport.outbox import OnSent, Outbox
from motet.transport.sockets import BlockingSource, hang_up, tune
from motet.transport.stream import SMALL_PAYLOAD_BYTES, Frame, FrameReader

_LOG = logging.getLogger(__name__)


class Request:
    """A client's request, to be answered exactly once with `reply`.

    `kind`, `meta`, `payload`: what the client submitted; `payload` stays valid until the reply
    (for good after `detach_payload`). `client_id`: the name the client gave itself.
    """

    __slots__ = (
        "_buffer",
        "_connection",
        "_is_answered",
        "_operation",
        "client_id",
        "kind",
        "meta",
        "parked_s",
        "payload",
    )

    def __init__(
        self, connection: ServerConnection, frame: Frame, buffer: memoryview | None
    ) -> None:
        header = frame.header
        self._connection = connection
        self._operation = header.operation
        self._buffer = buffer
        self._is_answered = False
        self.parked_s = 0.0
        """When the handler returned without an answer, on the monotonic clock."""
        self.client_id = connection.client_id
        self.kind = header.code
        self.meta = frame.meta
        self.payload = frame.payload

    @property
    def is_connected(self) -> bool:
        """Whether a reply could still reach the client on this connection."""
        return not self._connection.is_closed

    @property
    def is_answered(self) -> bool:
        """Whether `reply` was called."""
        return self._is_answered

    def detach_payload(self) -> memoryview:
        """The payload, valid also after the reply."""
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
        """Answer, from any thread; never waits for the client.

        `buffers` (contiguous) are sent in order as one payload and must not change until
        `on_sent()` is called: once, on some thread, also if the connection is lost.
        """
        self._answer(status, 0, meta, [byte_view(buffer) for buffer in buffers], on_sent)

    def fail(self, error: BaseException) -> None:
        """Answer with an error, which the client raises: the same class if it is Motet's."""
        self._answer(0, ERROR, encode_error(error), [], None)

    def _answer(
        self,
        code: int,
        flags: int,
        meta: bytes | memoryview,
        views: list[memoryview],
        on_sent: OnSent | None,
    ) -> None:
        if self._is_answered:
            raise RuntimeError(f"request {self._operation} of {self.client_id} answered twice")
        wait_us = int((time.monotonic() - self.parked_s) * 1e6) if self.parked_s else 0
        payload_bytes = sum(map(len, views))
        header = encode_header(code, flags, self._operation, 0, len(meta), payload_bytes, wait_us)
        self._is_answered = True
        self._connection.send(header, meta, views, payload_bytes, on_sent)
        if self._buffer is not None:
            self._connection.pool.give_back(self._buffer)
            self._buffer = None


class ServerConnection:
    """Reads requests from one authenticated socket until it closes."""

    def __init__(
        self,
        sock: socket.socket,
        identity: Identity,
        handler: Callable[[Request], None],
        pool: BufferPool,
    ) -> None:
        tune(sock)
        self.client_id = identity.client_id
        self.link = identity.link
        self.pool = pool
        self.is_closed = False
        self._sock = sock
        self._handler = handler
        self._buffer: memoryview | None = None
        self._thread = threading.current_thread()
        self._thread_id = threading.get_ident()
        self._outbox = Outbox(sock, f"motet-writer-{identity.client_id}")
        self._reader = FrameReader(BlockingSource(sock), self._place)

    def serve(self) -> None:
        """Read and handle requests until the connection breaks; on the connection's thread."""
        try:
            while True:
                self._handle(self._next_frame())
        except OSError:
            pass
        except ProtocolError as error:
            _LOG.warning("connection of %s dropped: %s", self.client_id, error)
        finally:
            self.is_closed = True
            self._outbox.close()
            self._sock.close()

    def close(self) -> None:
        """Break the connection and wait until its thread has ended."""
        self.end(None)

    def end(self, timeout_s: float | None) -> bool:
        """Break the connection; whether its thread ended in time."""
        self.is_closed = True
        hang_up(self._sock)
        if self._thread_id != threading.get_ident():
            self._thread.join(timeout_s)
        return not self._thread.is_alive() or self._thread_id == threading.get_ident()

    def send(
        self,
        header: bytes,
        meta: bytes | memoryview,
        views: list[memoryview],
        payload_bytes: int,
        on_sent: OnSent | None,
    ) -> None:
        """Send a reply, or on the connection's own thread put it with those about to be sent."""
        if payload_bytes > JOIN_BYTES:
            self._outbox.put([memoryview(header + meta), *views], on_sent)
            self._outbox.flush()
            return
        self._outbox.put([memoryview(b"".join((header, meta, *views)))])
        if on_sent is not None:
            on_sent()
        if threading.get_ident() != self._thread_id:
            self._outbox.flush()

    def _next_frame(self) -> Frame:
        frame = self._reader.next()
        while frame is None:
            self._outbox.flush()
            self._reader.receive()
            frame = self._reader.next()
        return frame

    def _handle(self, frame: Frame) -> None:
        request = Request(self, frame, self._buffer)
        self._buffer = None
        try:
            self._handler(request)
        except Exception as error:
            if not isinstance(error, MotetError):
                _LOG.exception("request %d of %s failed", request.kind, self.client_id)
            if not request.is_answered:
                request.fail(error)
        if not request.is_answered:
            self._park(request, frame)

    def _park(self, request: Request, frame: Frame) -> None:
        request.parked_s = time.monotonic()
        if frame.is_borrowed:
            self._reader.keep()

    def _place(self, header: Header, references: bytes, meta: bytes) -> Sequence[memoryview] | None:
        del references, meta
        if header.payload_bytes <= SMALL_PAYLOAD_BYTES:
            return None
        self._buffer = self.pool.take(header.payload_bytes)
        return [self._buffer[: header.payload_bytes]]
