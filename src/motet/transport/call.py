"""One request under way, at the client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from motet.domain.errors import MotetError
from motet.transport.framing import ERROR, Header, decode_error
from motet.transport.stream import Frame

_NOTHING = memoryview(b"")


class Reply(NamedTuple):
    """A server's answer.

    `payload`: the bytes, or the destination if there was exactly one; empty after scattering.
    `wait_us`: microseconds that the server kept the request before it answered.
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
    """A request that was submitted; `wait` for its reply. Every call should be waited for."""

    __slots__ = (
        "_error",
        "_into",
        "_into_bytes",
        "_is_done",
        "_payload",
        "_reply",
        "_waiter",
        "operation",
        "views",
    )

    def __init__(
        self,
        waiter: Waiter,
        operation: int,
        views: list[memoryview | bytes],
        into: list[memoryview] | None,
    ) -> None:
        self._waiter = waiter
        self.operation = operation
        self.views = views
        self._into = into
        self._into_bytes = -1 if into is None else sum(map(len, into))
        self._payload = _NOTHING
        self._is_done = False
        self._reply: Reply | None = None
        self._error: MotetError | None = None

    @property
    def is_done(self) -> bool:
        """Whether `wait` would return at once."""
        return self._is_done

    @property
    def into_bytes(self) -> int:
        """Bytes of the destination; -1 without one."""
        return self._into_bytes

    def wait(self, timeout_s: float | None = None) -> Reply:
        """The reply. May be called again, also after a timeout.

        Raises the server's error, ConnectionLost, or TimeoutError after `timeout_s`.
        """
        if not self._is_done:
            self._waiter.await_call(self, timeout_s)
        if self._error is not None:
            raise self._error
        assert self._reply is not None
        return self._reply

    def place(self, payload_bytes: int) -> Sequence[memoryview]:
        """Where the reply's payload goes: the destination if it has the right size."""
        if self._into is not None and self._into_bytes == payload_bytes:
            self._payload = self._into[0] if len(self._into) == 1 else _NOTHING
            return self._into
        self._payload = np.empty(payload_bytes, np.uint8).data
        return [self._payload]

    def finish(self, frame: Frame) -> None:
        """Take the reply in."""
        header = frame.header
        if header.flags & ERROR:
            self.fail(decode_error(frame.meta))
            return
        if self._is_misfit(header):
            self.fail(self._mismatch(header.payload_bytes))
            return
        self._reply = Reply(header.code, frame.meta, self._payload, header.wait_us)
        self._let_go()

    def fail(self, error: MotetError) -> None:
        """End without a reply."""
        self._error = error
        self._let_go()

    def _let_go(self) -> None:
        """Done: the caller's buffers are the caller's again."""
        self.views = []
        self._into = None
        self._is_done = True

    def _is_misfit(self, header: Header) -> bool:
        """Whether the destination has another size; a status other than 0 may leave it unused."""
        if self._into is None or self._into_bytes == header.payload_bytes:
            return False
        return header.payload_bytes > 0 or header.code == 0

    def _mismatch(self, payload_bytes: int) -> MotetError:
        return MotetError(
            f"the reply has {payload_bytes} bytes of payload, its destination {self._into_bytes}"
        )
