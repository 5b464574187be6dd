"""Requests of one kind that are sent together and whose replies have no content, as writes have.

One object, one lock and one system call serve all of them: that takes less CPU time than as many
calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from motet.domain.errors import MotetError
from motet.transport.client.call import Waiter
from motet.transport.frame_reader import Frame
from motet.transport.framing import ERROR, Reference, decode_error
from motet.transport.payload_memory import MemoryLender, PayloadLease

BurstRequest: TypeAlias = tuple[bytes, memoryview]
"""Meta and payload."""


class Burst:
    """Requests in flight. As a `Call`, it is completed by the thread that reads replies.

    `is_done`: whether all are answered, or failed.
    """

    __slots__ = (
        "_errors",
        "_leases",
        "_lender",
        "_places",
        "_requests",
        "_waiter",
        "is_done",
        "kind",
    )
    into_bytes = 0

    def __init__(self, waiter: Waiter, kind: int, requests: Sequence[BurstRequest]) -> None:
        self._waiter = waiter
        self.kind, self._requests = kind, requests
        self._places: dict[int, int] = {}
        self._errors: dict[int, MotetError] = {}
        self._lender: MemoryLender | None = None
        self._leases: dict[int, PayloadLease] = {}
        self.is_done = not requests

    def number(self, operations: Iterator[int]) -> Sequence[int]:
        """Take a number for each request, and return them."""
        for place in range(len(self._requests)):
            self._places[next(operations)] = place
        return list(self._places)

    def request(self, operation: int) -> BurstRequest | None:
        """One of them, to send it; None: it is answered."""
        place = self._places.get(operation)
        return None if place is None else self._requests[place]

    def lend(self, lender: MemoryLender, operation: int, payload: memoryview) -> Reference:
        """Where the server finds the payload of a request: in place, or copied."""
        self._lender = lender
        found = lender.find(payload)
        if found is not None:
            return found
        lease = self._leases.setdefault(operation, lender.lease())
        return lease.payload((payload,), len(payload))

    def wait(self, timeout_s: float | None = None) -> Mapping[int, MotetError]:
        """Return once all are done: what the server answered, or ConnectionLost, in place of those
        that failed. Raises TimeoutError."""
        if not self.is_done:
            try:
                self._waiter.await_call(self, timeout_s)
            except MotetError:  # The error of the requests that failed with the connection.
                if not self.is_done:
                    raise
        return self._errors

    def place(self, payload_bytes: int) -> Sequence[memoryview]:
        """Content is not expected: it is received and dropped."""
        return [memoryview(bytearray(payload_bytes))]

    def finish(self, frame: Frame) -> None:
        """Complete a request with its reply."""
        header = frame.header
        if header.flags & ERROR:
            self._errors[self._places[header.operation]] = decode_error(frame.meta)
        lease = self._leases.pop(header.operation, None)
        if lease is not None:
            lease.release()
        self._end(header.operation)

    def fail(self, operation: int, error: MotetError) -> None:
        """Complete a request without a reply; the server may still read lent memory."""
        place = self._places[operation]
        self._errors[place] = error
        if self._lender is not None:
            lease = self._leases.pop(operation, None) or self._lender.lease()
            lease.abandon((self._requests[place][1],), None)
        self._end(operation)

    def _end(self, operation: int) -> None:
        """The last one is the end of all; several threads may be here."""
        del self._places[operation]
        if not self._places:
            self.is_done = True
