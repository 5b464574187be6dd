"""A slab while a client has it: reads and writes of its pages, and the end of that."""

from __future__ import annotations

import threading

from motet.remote_memory.wire.memory_messages import BadMemoryMessage
from motet.remote_memory.wire.page_requests import MAX_TRANSFER_BYTES, StaleSlab
from motet.transport import Request
from motet.transport.native.guarded_memory import GuardedMemory

COPIED_REPLY_BYTES = 1 << 14
"""Replies up to this size are copied before `reply` returns (`framing.JOIN_BYTES`)."""


class LentMemory:
    """The memory of one mapping. Thread-safe.

    A large reply is sent from the slab without a copy. `revoke` cuts such replies off, so that the
    memory can be zeroed: a client never gets the zeros, or what another client wrote later.
    `guarded`: the same memory for the compiled loop (`page_kernel`).
    """

    __slots__ = (
        "_changed",
        "_is_revoked",
        "_lock",
        "_reading",
        "_view",
        "client",
        "generation",
        "guarded",
    )

    def __init__(self, view: memoryview, client: str, generation: int) -> None:
        self._view = view
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._reading: dict[int, Request] = {}
        self._is_revoked = False
        self.guarded = GuardedMemory(view)
        self.client = client
        self.generation = generation

    def write(self, request: Request, offset: int) -> None:
        """Store the payload and reply. Raises StaleSlab, BadMemoryMessage."""
        end = offset + len(request.payload)
        with self._lock:
            self._check(offset, end)
            self._view[offset:end] = request.payload
        request.reply()

    def read(self, request: Request, offset: int, length: int) -> None:
        """Reply with the content. Raises StaleSlab, BadMemoryMessage."""
        end = offset + length
        with self._lock:
            self._check(offset, end)
            if length <= COPIED_REPLY_BYTES:
                request.reply(0, b"", (self._view[offset:end],))
                return
            self._reading[id(request)] = request
        request.reply(0, b"", (self._view[offset:end],), lambda: self._sent(request))

    def revoke(self, timeout_s: float) -> bool:
        """Refuse further requests and cut off replies in progress; whether none reads any more."""
        with self._changed:
            self._is_revoked = True
            reading = list(self._reading.values())
        self.guarded.close()
        for request in reading:
            request.disconnect()
        with self._changed:
            return self._changed.wait_for(lambda: not self._reading, timeout_s)

    def _sent(self, request: Request) -> None:
        with self._changed:
            self._reading.pop(id(request), None)
            self._changed.notify_all()

    def _check(self, start: int, end: int) -> None:
        if self._is_revoked:
            raise StaleSlab("the slab was revoked")
        if not 0 <= start < end <= len(self._view) or end - start > MAX_TRANSFER_BYTES:
            raise BadMemoryMessage(
                f"bytes {start} to {end} of a slab of {len(self._view)}, at most "
                f"{MAX_TRANSFER_BYTES} at a time"
            )
