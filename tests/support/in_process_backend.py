"""A transport backend within one process: bounded pipes, and optionally lent buffers."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from motet.transport.channel import DeadlinePassed
from motet.transport.endpoint import Endpoint
from motet.transport.framing import Piece, ProtocolError, Reference

CAPACITY_BYTES = 1 << 16
LEND_FROM_BYTES = 1 << 15


class Pipe:
    """A stream of bytes in one direction; holds at most CAPACITY_BYTES."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._changed = threading.Condition()
        self._is_shut_down = False

    def write(self, data: Piece, *, may_block: bool) -> int | None:
        """Write a part of the data and return its size; None if that would block and must not."""
        with self._changed:
            while not self._is_shut_down and len(self._bytes) >= CAPACITY_BYTES:
                if not may_block:
                    return None
                self._changed.wait()
            if self._is_shut_down:
                raise BrokenPipeError("the channel is shut down")
            part = memoryview(data)[: CAPACITY_BYTES - len(self._bytes)]
            self._bytes += part
            self._changed.notify_all()
            return len(part)

    def read(self, view: memoryview, deadline_s: float | None) -> int:
        """Read at least one byte; buffered bytes remain readable after a shutdown."""
        with self._changed:
            while not self._bytes:
                if self._is_shut_down:
                    raise ConnectionResetError("the channel is shut down")
                remaining_s = None if deadline_s is None else deadline_s - time.monotonic()
                if remaining_s is not None and remaining_s <= 0:
                    raise DeadlinePassed
                self._changed.wait(remaining_s)
            count = min(len(view), len(self._bytes))
            view[:count] = self._bytes[:count]
            del self._bytes[:count]
            self._changed.notify_all()
            return count

    def shutdown(self) -> None:
        """End the stream and wake all threads that block in it."""
        with self._changed:
            self._is_shut_down = True
            self._changed.notify_all()


class LentBuffers:
    """Buffers that one client lends, by number: both ends of the memory port."""

    lend_from_bytes = LEND_FROM_BYTES

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._buffers: dict[int, list[memoryview]] = {}

    def lend(self, views: Sequence[memoryview], size_bytes: int) -> Reference:
        """Register a list of buffers."""
        number = next(self._numbers)
        self._buffers[number] = list(views)
        return Reference(number, 0, size_bytes)

    def revoke(self, reference: Reference) -> None:
        """Forget a list of buffers."""
        del self._buffers[reference.segment]

    def lease(self) -> BufferLease:
        return BufferLease(self)

    def find(self, view: memoryview) -> Reference | None:
        """None: all payloads are copied to the table."""

    def announce(self, references: Sequence[Reference]) -> None:
        """Do nothing: the server sees the same table."""

    def attach(self, segment: Reference) -> None:
        raise ProtocolError(f"buffers have no segments: {segment}")

    def detach(self, segment_number: int) -> None:
        raise ProtocolError(f"buffers have no segments: {segment_number}")

    def payload(self, reference: Reference) -> memoryview:
        views = self._views(reference)
        return views[0] if len(views) == 1 else memoryview(b"".join(views))

    def reply_target(self, references: Sequence[Reference]) -> BufferTarget:
        (reference,) = references
        return BufferTarget(self._views(reference))

    def _views(self, reference: Reference) -> list[memoryview]:
        views = self._buffers.get(reference.segment)
        if views is None:
            raise ProtocolError(f"{reference} is not lent any more")
        return views


class BufferTarget:
    """A client's buffers for the payload of one reply."""

    def __init__(self, views: list[memoryview]) -> None:
        self._views = views
        self.size_bytes = sum(map(len, views))

    def write(self, views: Sequence[memoryview]) -> None:
        joined = memoryview(b"".join(views))
        for view in self._views:
            view[:] = joined[: len(view)]
            joined = joined[len(view) :]


class BufferLease:
    """The buffers that one call lends."""

    def __init__(self, buffers: LentBuffers) -> None:
        self._buffers = buffers
        self._payload: Reference | None = None
        self._target: Reference | None = None

    def payload(self, views: Sequence[memoryview], size_bytes: int) -> Reference:
        if self._payload is None:
            self._payload = self._buffers.lend(views, size_bytes)
        return self._payload

    def targets(self, into: Sequence[memoryview], size_bytes: int) -> list[Reference]:
        if self._target is None:
            self._target = self._buffers.lend(into, size_bytes)
        return [self._target]

    def deliver(self, into: Sequence[memoryview]) -> None:
        """Do nothing: the server wrote to the destinations."""

    def release(self) -> None:
        for reference in (self._payload, self._target):
            if reference is not None:
                self._buffers.revoke(reference)

    def abandon(self, views: Sequence[memoryview], into: Sequence[memoryview] | None) -> None:
        self.release()


class InProcessChannel:
    """One end of a pair of pipes; a client's end and a server's end are alike."""

    def __init__(self, incoming: Pipe, outgoing: Pipe, buffers: LentBuffers | None) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self.lender = buffers
        self.peer_memory = buffers
        self.deadline_s: float | None = None
        self.is_exposed = False

    def receive(self, view: memoryview) -> int:
        return self._incoming.read(view, self.deadline_s)

    def receive_all(self, views: Sequence[memoryview]) -> int:
        return self._incoming.read(next(view for view in views if len(view)), self.deadline_s)

    def use_lane(self, lane: int) -> None:
        """See Channel."""

    def send(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[self._outgoing.write(rest, may_block=True) :]

    def send_some(self, pieces: Sequence[Piece], *, may_block: bool) -> int | None:
        return self._outgoing.write(next(piece for piece in pieces if piece), may_block=may_block)

    def shutdown(self) -> None:
        self._incoming.shutdown()
        self._outgoing.shutdown()

    def close(self) -> None:
        self.shutdown()


def channel_pair(*, lends: bool = False) -> tuple[InProcessChannel, InProcessChannel]:
    """A client's end and the server's end that it is connected to."""
    requests, replies, buffers = Pipe(), Pipe(), LentBuffers() if lends else None
    return (
        InProcessChannel(replies, requests, buffers),
        InProcessChannel(requests, replies, buffers),
    )


class InProcessListener:
    """The `Listener` and the `Connector` of one server. `lends`: whether channels share memory."""

    def __init__(self, *, lends: bool = False) -> None:
        self._lends = lends
        self._arrivals: queue.SimpleQueue[InProcessChannel | None] = queue.SimpleQueue()
        self._is_shut_down = False

    def connect(self, timeout_s: float) -> InProcessChannel:
        if self._is_shut_down:
            raise ConnectionRefusedError("the listener is shut down")
        client, server = channel_pair(lends=self._lends)
        self._arrivals.put(server)
        return client

    def announce(self, endpoint: Endpoint) -> Endpoint:
        return replace(endpoint, host="in-process")

    def accept(self) -> InProcessChannel | None:
        return self._arrivals.get()

    def shutdown(self) -> None:
        self._is_shut_down = True
        self._arrivals.put(None)

    def close(self) -> None:
        """Free nothing: the listener has no address."""
