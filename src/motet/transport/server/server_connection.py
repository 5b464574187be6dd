"""One client's connection at the server."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Sequence

from motet.domain.arrays import Bytes
from motet.domain.errors import MotetError
from motet.transport.authentication import Identity
from motet.transport.backends.shared_memory import MappedSegments
from motet.transport.backends.socket_channel import DescriptorSource, SocketSource, hang_up, tune
from motet.transport.backends.spin_policy import Patience
from motet.transport.frame_reader import SMALL_PAYLOAD_BYTES, Frame, FrameReader
from motet.transport.framing import (
    ATTACH,
    DETACH,
    JOIN_BYTES,
    SHARED_PAYLOAD,
    Header,
    Piece,
    ProtocolError,
    decode_references,
)
from motet.transport.server.buffer_pool import BufferPool
from motet.transport.server.outbox import OnSent, Outbox
from motet.transport.server.request import Request

_LOG = logging.getLogger(__name__)
MAX_JOINED_REPLIES = 32

Handler = Callable[[Request], None]


class ServerConnection:
    """Reads requests from one authenticated socket until it closes.

    Made on the thread that then serves it.
    """

    def __init__(
        self, sock: socket.socket, identity: Identity, handler: Handler, pool: BufferPool
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
        self._small_replies: list[bytes] = []
        self._segments = MappedSegments()
        self._outbox = Outbox(sock, f"motet-writer-{identity.client_id}")
        self._source = _source(sock)
        self._reader = FrameReader(self._source, self._place)

    def serve(self) -> None:
        """Read and handle requests until the connection breaks."""
        try:
            while True:
                self._take(self._next_frame())
        except OSError:
            pass
        except (ProtocolError, MemoryError) as error:
            _LOG.warning("connection of %s dropped: %s", self.client_id, error)
        finally:
            self.is_closed = True
            self._source.close()
            self._segments.close()
            self._outbox.close()
            self._sock.close()

    def end(self, timeout_s: float | None = None) -> bool:
        """Break the connection; whether its thread ended in time (or is this one)."""
        self.is_closed = True
        hang_up(self._sock)
        if self._thread_id == threading.get_ident():
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def keep_payloads(self) -> None:
        """Leave payloads that lie in the receive buffer untouched from now on."""
        self._reader.keep()

    def send(
        self, head: tuple[Piece, ...], views: list[memoryview], size: int, on_sent: OnSent | None
    ) -> None:
        """Send a reply, or on the connection's own thread put it with those about to be sent."""
        if size > JOIN_BYTES:
            joined = b"".join(head)
            self._outbox.post([joined, *views], len(joined) + size, on_sent)
            return
        data = b"".join((*head, *views))
        if on_sent is not None:
            on_sent()
        if threading.get_ident() == self._thread_id:
            self._small_replies.append(data)
        else:
            self._outbox.post([data], len(data))

    def _next_frame(self) -> Frame:
        """The next frame; small replies go out together once no complete request is left."""
        frame = self._reader.next()
        while frame is None:
            if self._small_replies:
                self._flush()
            self._reader.receive()
            frame = self._reader.next()
        if len(self._small_replies) >= MAX_JOINED_REPLIES:
            self._flush()
        return frame

    def _flush(self) -> None:
        replies = self._small_replies
        data = replies[0] if len(replies) == 1 else b"".join(replies)
        replies.clear()
        self._outbox.post([data], len(data))

    def _take(self, frame: Frame) -> None:
        flags = frame.header.flags
        if flags & (ATTACH | DETACH):
            self._change_segments(frame)
            return
        targets: list[Bytes] = []
        if frame.references:
            targets = [self._segments.view(r) for r in decode_references(frame.references)]
        if flags & SHARED_PAYLOAD:
            if not targets:
                raise ProtocolError("a shared payload came without a reference to it")
            frame = frame._replace(payload=targets.pop(0).data)
        self._handle(Request(self, frame, self._buffer, targets), frame.is_borrowed)

    def _handle(self, request: Request, is_borrowed: bool) -> None:
        self._buffer = None
        try:
            self._handler(request)
        except Exception as error:
            if not isinstance(error, MotetError):
                _LOG.exception("request %d of %s failed", request.kind, self.client_id)
            if not request.is_answered:
                request.fail(error)
        if not request.is_finished:
            request.mark_parked()
            if is_borrowed:
                self._reader.keep()

    def _change_segments(self, frame: Frame) -> None:
        references = decode_references(frame.references)
        if len(references) != 1:
            raise ProtocolError("a segment is announced by exactly one reference")
        if frame.header.flags & DETACH:
            self._segments.detach(references[0].segment)
            return
        descriptor = self._source.next_descriptor()
        if descriptor is None:
            raise ProtocolError("a segment was announced without its descriptor")
        self._segments.attach(references[0], descriptor)

    def _place(self, header: Header, references: bytes, meta: bytes) -> Sequence[memoryview] | None:
        del references, meta
        if header.payload_bytes <= SMALL_PAYLOAD_BYTES:
            return None
        self._buffer = self.pool.take(header.payload_bytes)
        return [self._buffer[: header.payload_bytes]]


def _source(sock: socket.socket) -> SocketSource:
    is_local = sock.family == socket.AF_UNIX
    return DescriptorSource(sock, Patience()) if is_local else SocketSource(sock, Patience())
