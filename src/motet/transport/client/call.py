"""One request in flight, at the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from motet.domain.errors import MotetError
from motet.transport.frame_reader import Frame
from motet.transport.framing import (
    ERROR,
    SHARED_PAYLOAD,
    Buffer,
    Header,
    decode_error,
    new_tuple,
)
from motet.transport.lanes import NO_LANE
from motet.transport.payload_memory import PayloadLease

_NOTHING = memoryview(b"")


class Reply(NamedTuple):
    """A server's reply.

    `payload`: the bytes, or the destination if there was exactly one; empty after scattering.
    `wait_us`: microseconds between the handler's return and a deferred reply at the server.
    """

    status: int
    meta: bytes
    payload: memoryview
    wait_us: int


class AwaitedCall(Protocol):
    """A request in flight, or several.

    `is_done`: whether all are answered. `into_bytes`: size of the replies' destination."""

    is_done: bool

    @property
    def into_bytes(self) -> int: ...


class Waiter(Protocol):
    """Reads replies until a call is done."""

    def await_call(self, call: AwaitedCall, timeout_s: float | None) -> None:
        """Return once the call is done. Raises TimeoutError."""
        ...


class Call:
    """A submitted request. Every call needs a `wait`: replies are read only by waiting threads.

    `is_done`: whether `wait` returns at once. `lease`: the lent memory that it uses, if any.
    """

    __slots__ = (
        "_error",
        "_payload",
        "_reply",
        "_waiter",
        "into",
        "into_bytes",
        "is_done",
        "kind",
        "lane",
        "lease",
        "meta",
        "payload_bytes",
        "views",
    )

    def __init__(
        self,
        waiter: Waiter,
        kind: int,
        meta: bytes | memoryview,
        views: list[memoryview],
        into: list[memoryview] | None,
        lane: int = NO_LANE,
    ) -> None:
        self._waiter = waiter
        self.kind = kind
        self.lane = lane
        self.meta = meta
        self.views = views
        self.payload_bytes = sum(map(len, views)) if views else 0
        self.into = into
        self.into_bytes = sum(map(len, into)) if into else 0
        self.lease: PayloadLease | None = None
        self.is_done = False
        self._payload = _NOTHING
        self._reply: Reply | None = None
        self._error: MotetError | None = None

    def wait(self, timeout_s: float | None = None) -> Reply:
        """Return the reply. May be called again, also after a timeout.

        Raises the server's error, ConnectionLost, or TimeoutError after `timeout_s`.
        """
        if not self.is_done:
            self._waiter.await_call(self, timeout_s)
        if self._error is not None:
            raise self._error
        assert self._reply is not None
        return self._reply

    def place(self, payload_bytes: int) -> Sequence[memoryview]:
        """Return where the reply's payload goes: the destination if it has the right size."""
        if self.into is not None and self.into_bytes == payload_bytes:
            self._payload = _only(self.into)
            return self.into
        self._payload = np.empty(payload_bytes, np.uint8).data
        return [self._payload]

    def finish(self, frame: Frame) -> None:
        """Complete the call with its reply."""
        header = frame.header
        if header.flags:
            self._deliver_lent(header)
        if header.flags & ERROR:
            self._error = decode_error(frame.meta)
        elif self.into_bytes != header.payload_bytes and self._is_misfit(header):
            self._error = self._mismatch(header.payload_bytes)
        else:
            self._reply = new_tuple(Reply, (header.code, frame.meta, self._payload, header.wait_us))
        if self.lease is not None:
            self.lease.release()
        self._release_buffers()

    def fail(self, error: MotetError) -> None:
        """Complete the call without a reply; the server may still access the lent memory."""
        self._error = error
        if self.lease is not None:
            self.lease.abandon(self.views, self.into)
        self._release_buffers()

    def _deliver_lent(self, header: Header) -> None:
        if header.flags & SHARED_PAYLOAD and self.into and self.lease is not None:
            self.lease.deliver(self.into)
            self._payload = _only(self.into)

    def _release_buffers(self) -> None:
        """Mark the call as done and drop all references to the caller's buffers."""
        self.views = []
        self.into = None
        self.lease = None
        self.is_done = True

    def _is_misfit(self, header: Header) -> bool:
        """Whether a payload of another size than the destination's is an error."""
        return self.into is not None and (header.payload_bytes > 0 or header.code == 0)

    def _mismatch(self, payload_bytes: int) -> MotetError:
        return MotetError(
            f"the reply has {payload_bytes} bytes of payload, its destination {self.into_bytes}"
        )


class Requester(Protocol):
    """Sends requests to one server: a `Connection`, or a `DirectConnection` in its own process."""

    @property
    def outstanding_count(self) -> int:
        """Number of requests without a reply."""
        ...

    def submit(
        self,
        kind: int,
        meta: bytes | memoryview = b"",
        buffers: Sequence[Buffer] = (),
        into: Sequence[Buffer] | None = None,
    ) -> Call:
        """Send a request and return its call; `Call.wait` returns the reply.

        `buffers` (contiguous) are sent in order as one payload. `into`: where the reply's payload
        goes, in order, with sizes that add up to it. The caller changes neither until the call is
        done. Raises ConnectionLost, ValueError.
        """
        ...

    def close(self) -> None:
        """Calls in flight raise ConnectionLost."""
        ...


def _only(views: list[memoryview]) -> memoryview:
    return views[0] if len(views) == 1 else _NOTHING
