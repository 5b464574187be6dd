"""One request under way, at the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from motet.domain.errors import MotetError
from motet.transport.backends.lease import Lease
from motet.transport.frame_reader import Frame
from motet.transport.framing import ERROR, SHARED_PAYLOAD, Header, decode_error, new_tuple

_NOTHING = memoryview(b"")


class Reply(NamedTuple):
    """A server's answer.

    `payload`: the bytes, or the destination if there was exactly one; empty after scattering.
    `wait_us`: microseconds that the request lay parked at the server, its handler having returned.
    """

    status: int
    meta: bytes
    payload: memoryview
    wait_us: int


class Waiter(Protocol):
    """Who can bring a call to its end."""

    def await_call(self, call: Call, timeout_s: float | None) -> None:
        """Return once the call is done. Raises TimeoutError."""
        ...


class Call:
    """A request that was submitted; `wait` for its reply. Every call should be waited for.

    `is_done`: whether `wait` would return at once. `lease`: the shared memory it uses, if any.
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
    ) -> None:
        self._waiter = waiter
        self.kind = kind
        self.meta = meta
        self.views = views
        self.payload_bytes = sum(map(len, views)) if views else 0
        self.into = into
        self.into_bytes = sum(map(len, into)) if into else 0
        self.lease: Lease | None = None
        self.is_done = False
        self._payload = _NOTHING
        self._reply: Reply | None = None
        self._error: MotetError | None = None

    def wait(self, timeout_s: float | None = None) -> Reply:
        """The reply. May be called again, also after a timeout.

        Raises the server's error, ConnectionLost, or TimeoutError after `timeout_s`.
        """
        if not self.is_done:
            self._waiter.await_call(self, timeout_s)
        if self._error is not None:
            raise self._error
        assert self._reply is not None
        return self._reply

    def place(self, payload_bytes: int) -> Sequence[memoryview]:
        """Where the reply's payload goes: the destination if it has the right size."""
        if self.into is not None and self.into_bytes == payload_bytes:
            self._payload = _only(self.into)
            return self.into
        self._payload = np.empty(payload_bytes, np.uint8).data
        return [self._payload]

    def finish(self, frame: Frame) -> None:
        """Take the reply in."""
        header = frame.header
        if header.flags:
            self._take_shared(header)
        if header.flags & ERROR:
            self._error = decode_error(frame.meta)
        elif self._is_misfit(header):
            self._error = self._mismatch(header.payload_bytes)
        else:
            self._reply = new_tuple(Reply, (header.code, frame.meta, self._payload, header.wait_us))
        if self.lease is not None:
            self.lease.release()
        self._let_go()

    def fail(self, error: MotetError) -> None:
        """End without a reply; the server might still use the shared memory."""
        self._error = error
        if self.lease is not None:
            self.lease.abandon(self.views, self.into)
        self._let_go()

    def _take_shared(self, header: Header) -> None:
        if header.flags & SHARED_PAYLOAD and self.into and self.lease is not None:
            self.lease.deliver(self.into)
            self._payload = _only(self.into)

    def _let_go(self) -> None:
        """Done: the caller's buffers are the caller's again."""
        self.views = []
        self.into = None
        self.lease = None
        self.is_done = True

    def _is_misfit(self, header: Header) -> bool:
        """Whether the destination has another size; a status other than 0 may leave it unused."""
        if self.into is None or self.into_bytes == header.payload_bytes:
            return False
        return header.payload_bytes > 0 or header.code == 0

    def _mismatch(self, payload_bytes: int) -> MotetError:
        return MotetError(
            f"the reply has {payload_bytes} bytes of payload, its destination {self.into_bytes}"
        )


def _only(views: list[memoryview]) -> memoryview:
    return views[0] if len(views) == 1 else _NOTHING
