"""One client's connection at the server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from motet.transport.authentication import Identity
from motet.transport.channel import ServerChannel
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
from motet.transport.payload_memory import ReplyTarget
from motet.transport.sealing import Tampered
from motet.transport.server.batch_handler import NewBatchHandler
from motet.transport.server.buffer_pool import BufferPool
from motet.transport.server.outbox import OnSent, Outbox
from motet.transport.server.request import Handler, Request, run_handler

_LOG = logging.getLogger(__name__)
MAX_JOINED_REPLIES = 32
FLUSHED_BYTES = 1 << 16
"""Replies to a batch of so many bytes are sent before the next one is read."""
_NO_MEMORY = "a client refers to memory on a connection that shares none"


class ServerConnection:
    """Reads requests from one authenticated channel until it breaks.

    Must be created on the thread that calls `serve`.
    """

    def __init__(
        self,
        channel: ServerChannel,
        identity: Identity,
        handler: Handler,
        pool: BufferPool,
        payload_limit: Callable[[str], int] | None = None,
        batches: NewBatchHandler | None = None,
    ) -> None:
        self.client_id = identity.client_id
        self.session = identity.session
        self.pool = pool
        self.is_closed = False
        self._channel = channel
        self._peer_memory = channel.peer_memory
        self._handler = handler
        self._payload_limit = payload_limit
        self._batch = None if batches is None else batches(identity.client_id)
        self._buffer: memoryview | None = None
        self._thread = threading.current_thread()
        self._thread_id = threading.get_ident()
        self._small_replies: list[bytes] = []
        self._outbox = Outbox(channel, f"motet-writer-{identity.client_id}")
        self._reader = FrameReader(channel, self._place)

    def serve(self) -> None:
        """Read and handle requests until the connection breaks."""
        try:
            while True:
                self._process(self._next_frame())
        except (ProtocolError, MemoryError, Tampered) as error:
            _LOG.warning("connection of %s dropped: %s", self.client_id, error)
        except OSError:
            pass
        finally:
            self.is_closed = True
            self._outbox.close()
            self._channel.close()

    def end(self, timeout_s: float | None = None) -> bool:
        """Break the connection; return whether its thread ended in time (or is this one)."""
        self.disconnect()
        if self._thread_id == threading.get_ident():
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def disconnect(self) -> None:
        """See ReplyPath."""
        self.is_closed = True
        self._channel.shutdown()

    def keep_payloads(self) -> None:
        """Do not overwrite payloads that lie in the receive buffer."""
        self._reader.keep()

    def send(
        self,
        head: tuple[Piece, ...],
        views: list[memoryview],
        size: int,
        on_sent: OnSent | None,
        lane: int,
    ) -> None:
        """Send a reply. A small one has no lane, and waits for the next flush if it comes from
        this connection's thread."""
        if size > JOIN_BYTES:
            joined = b"".join(head)
            self._outbox.post([joined, *views], len(joined) + size, on_sent, lane)
            return
        data = b"".join((*head, *views))
        if on_sent is not None:
            on_sent()
        if threading.get_ident() == self._thread_id:
            self._small_replies.append(data)
        else:
            self._outbox.post([data], len(data))

    def _next_frame(self) -> Frame:
        """Return the next frame that no batch handler answers; flush small replies when no complete
        request is buffered."""
        frame = self._next_buffered()
        while frame is None:
            if self._small_replies:
                self._flush()
            self._reader.receive()
            frame = self._next_buffered()
        if len(self._small_replies) >= MAX_JOINED_REPLIES:
            self._flush()
        return frame

    def _next_buffered(self) -> Frame | None:
        if self._batch is not None:
            received, start, end = self._reader.unread
            if start < end:
                read_to, replies = self._batch.serve(received, start, end)
                self._reader.skip_to(read_to)
                if replies:
                    self._small_replies.append(replies)
                if len(replies) >= FLUSHED_BYTES:
                    self._flush()
        return self._reader.next()

    def _flush(self) -> None:
        replies = self._small_replies
        data = replies[0] if len(replies) == 1 else b"".join(replies)
        replies.clear()
        self._outbox.post([data], len(data))

    def _process(self, frame: Frame) -> None:
        flags = frame.header.flags
        if flags & (ATTACH | DETACH):
            self._change_segments(frame)
            return
        target: ReplyTarget | None = None
        if frame.references or flags & SHARED_PAYLOAD:
            frame, target = self._resolve(frame)
        self._handle(Request(self, frame, self._buffer, target), frame.is_borrowed)

    def _resolve(self, frame: Frame) -> tuple[Frame, ReplyTarget | None]:
        """Return the frame with its lent payload, and where the reply's payload goes."""
        memory = self._peer_memory
        if memory is None:
            raise ProtocolError(_NO_MEMORY)
        references = decode_references(frame.references)
        if frame.header.flags & SHARED_PAYLOAD:
            if not references:
                raise ProtocolError("a lent payload came without a reference to it")
            frame = frame._replace(payload=memory.payload(references.pop(0)))
        return frame, memory.reply_target(references) if references else None

    def _handle(self, request: Request, is_borrowed: bool) -> None:
        self._buffer = None
        run_handler(self._handler, request)
        if is_borrowed and not request.is_finished:
            self._reader.keep()

    def _change_segments(self, frame: Frame) -> None:
        references = decode_references(frame.references)
        if len(references) != 1:
            raise ProtocolError("a segment is announced by exactly one reference")
        memory = self._peer_memory
        if memory is None:
            raise ProtocolError(_NO_MEMORY)
        if frame.header.flags & DETACH:
            memory.detach(references[0].segment)
        else:
            memory.attach(references[0])
        if self._batch is not None:
            self._batch.use_segments(memory.segments)

    def _place(self, header: Header, references: bytes, meta: bytes) -> Sequence[memoryview] | None:
        del references, meta
        if header.payload_bytes <= SMALL_PAYLOAD_BYTES:
            return None
        if self._payload_limit is not None:
            limit_bytes = self._payload_limit(self.client_id)
            if header.payload_bytes > limit_bytes:
                raise ProtocolError(
                    f"a payload of {header.payload_bytes} bytes, at most {limit_bytes} here"
                )
        self._buffer = self.pool.take(header.payload_bytes)
        return [self._buffer[: header.payload_bytes]]
