"""Requests to a handler of the same process: a function call instead of a message.

The thread that submits a request runs the handler, as a connection's thread does at a server. So
the request needs no frame, no system call and no change of threads.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Sequence

import numpy as np

from motet.domain.errors import ConnectionLost, MotetError
from motet.transport.backends.copying import gather, transfer
from motet.transport.client.call import AwaitedCall, Call, Reply
from motet.transport.frame_reader import Frame
from motet.transport.framing import (
    Buffer,
    Header,
    Piece,
    byte_view,
    check_limits,
    decode_header,
    writable_view,
)
from motet.transport.server.buffer_pool import BufferPool
from motet.transport.server.outbox import OnSent
from motet.transport.server.request import Handler, Request, run_handler

_LOG = logging.getLogger(__name__)
_NOTHING = memoryview(b"")
_POOL = BufferPool(0)
"""No request here has a buffer of a pool."""


class DirectConnection:
    """A `Requester` whose server is a handler of this process. Thread-safe.

    `submit` returns once the handler does; a deferred reply ends the call later, from any thread.
    The payload of one buffer is the caller's memory, which does not change until the call is done.
    """

    def __init__(self, handler: Handler, client_id: str) -> None:
        """`client_id`: the name that the handler sees."""
        self._handler = handler
        self._client_id = client_id
        self._operations = itertools.count(1)
        self._outstanding: dict[int, _DirectCall] = {}
        self._is_closed = False

    @property
    def outstanding_count(self) -> int:
        """Number of requests without a reply."""
        return len(self._outstanding)

    def submit(
        self,
        kind: int,
        meta: bytes | memoryview = b"",
        buffers: Sequence[Buffer] = (),
        into: Sequence[Buffer] | None = None,
    ) -> Call:
        """See Requester. Raises ConnectionLost, ValueError."""
        views = [byte_view(buffer) for buffer in buffers] if buffers else []
        targets = None if into is None else [writable_view(buffer) for buffer in into]
        operation = next(self._operations)
        direct = _DirectCall(self._outstanding, operation, self._client_id)
        call = direct.call = Call(direct, kind, meta, views, targets)
        check_limits(kind, len(meta), call.payload_bytes)
        self._outstanding[operation] = direct
        if self._is_closed:  # `close` may have come before the call was outstanding.
            self._outstanding.pop(operation, None)
            raise self._closed()
        header = Header(0, 0, 0, kind, 0, len(meta), operation, call.payload_bytes)
        frame = Frame(header, b"", bytes(meta), _joined(views, call.payload_bytes), False)
        run_handler(self._handler, Request(direct, frame, None, None))
        return call

    def request(
        self,
        kind: int,
        meta: bytes | memoryview = b"",
        buffers: Sequence[Buffer] = (),
        into: Sequence[Buffer] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Submit and wait."""
        return self.submit(kind, meta, buffers, into).wait(timeout_s)

    def close(self) -> None:
        """Calls without a reply raise ConnectionLost; safe to call again."""
        self._is_closed = True
        while self._outstanding:
            _, direct = self._outstanding.popitem()
            direct.fail(self._closed())

    def _closed(self) -> ConnectionLost:
        return ConnectionLost(f"{self._client_id}: the connection to this process was closed here")


class _DirectCall:
    """Waits for the reply to one request (`Waiter`), and delivers it (`ReplyPath`).

    The thread that removes it from the outstanding calls ends it.
    """

    __slots__ = ("_done", "_operation", "_outstanding", "call", "client_id", "is_closed", "pool")

    call: Call

    def __init__(self, outstanding: dict[int, _DirectCall], operation: int, client_id: str) -> None:
        self._outstanding = outstanding
        self._operation = operation
        self.client_id = client_id
        self.is_closed = False
        self.pool = _POOL
        self._done = threading.Lock()
        self._done.acquire()

    def await_call(self, call: AwaitedCall, timeout_s: float | None) -> None:
        """See Waiter."""
        if not self._done.acquire(timeout=-1 if timeout_s is None else max(timeout_s, 0.0)):
            raise TimeoutError(f"a request got no reply within {timeout_s} s")
        self._done.release()

    def disconnect(self) -> None:
        """A function call has no connection to break: its reply is complete when it is given."""

    def keep_payloads(self) -> None:
        """A payload is in no buffer that is used again."""

    def send(
        self,
        head: tuple[Piece, ...],
        views: list[memoryview],
        size: int,
        on_sent: OnSent | None,
        lane: int,
    ) -> None:
        """See ReplyPath."""
        del lane
        is_awaited = self._outstanding.pop(self._operation, None) is not None
        try:
            if is_awaited:
                header, meta = head
                self._deliver(decode_header(header), bytes(meta), views, size)
        finally:
            # The memory of the reply is free before the waiting thread continues.
            if on_sent is not None:
                _free(on_sent)
            if is_awaited:
                self._done.release()

    def fail(self, error: MotetError) -> None:
        """End the call without a reply."""
        self.is_closed = True
        self.call.fail(error)
        del self.call
        self._done.release()

    def _deliver(self, header: Header, meta: bytes, views: list[memoryview], size: int) -> None:
        if size:
            targets = self.call.place(size)
            transfer(views, [np.frombuffer(target, np.uint8) for target in targets])
        self.call.finish(Frame(header, b"", meta, _NOTHING, False))
        # The call refers to this object: without a cycle, its memory is free with the caller's use.
        del self.call


def _joined(views: list[memoryview], size: int) -> memoryview:
    """The payload of a request: the only buffer itself, several as a copy."""
    if len(views) < 2:
        return views[0] if views else _NOTHING
    payload = np.empty(size, np.uint8)
    gather(views, payload)
    return payload.data


def _free(on_sent: OnSent) -> None:
    try:
        on_sent()
    except Exception:
        _LOG.exception("a callback after sending failed")
