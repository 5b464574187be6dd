"""The optional part of the backend port: payloads in memory that both processes can access.

A client lends memory to a server and sends references instead of payload bytes. A backend without
such memory sets `ClientChannel.lender` and `ServerChannel.peer_memory` to None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from motet.domain.arrays import Bytes
from motet.transport.framing import Reference


class PayloadLease(Protocol):
    """The lent memory that one call uses, from its first transmission to its reply."""

    def payload(self, views: Sequence[memoryview], size_bytes: int) -> Reference:
        """Return where the server reads the request's payload; copy it there if necessary."""
        ...

    def targets(self, into: Sequence[memoryview], size_bytes: int) -> list[Reference]:
        """Return where the server writes the reply's payload."""
        ...

    def deliver(self, into: Sequence[memoryview]) -> None:
        """Copy the reply's payload to its destinations unless it was written there directly."""
        ...

    def release(self) -> None:
        """Free the memory after a reply: the server does not access it any more."""
        ...

    def abandon(self, views: Sequence[memoryview], into: Sequence[memoryview] | None) -> None:
        """End without a reply: the server may still access the memory, so it is not used again."""
        ...


class MemoryLender(Protocol):
    """The client's end of lent memory, for one channel.

    `lend_from_bytes`: the smallest payload that is lent instead of sent.
    """

    @property
    def lend_from_bytes(self) -> int: ...

    def lease(self) -> PayloadLease:
        """Return a lease for one call."""
        ...

    def find(self, view: memoryview) -> Reference | None:
        """Where a flat view lies in memory that is lent as it is; None: it must be copied."""
        ...

    def announce(self, references: Sequence[Reference]) -> None:
        """Give the server access to what the references name. Call it before sending them.

        Raises OSError.
        """
        ...


class ReplyTarget(Protocol):
    """The client's memory for the payload of one reply."""

    @property
    def size_bytes(self) -> int: ...

    def write(self, views: Sequence[memoryview]) -> None:
        """Copy `size_bytes` bytes there, in order."""
        ...


class PeerMemory(Protocol):
    """The server's end: the memory that one client lent over one channel.

    All methods raise ProtocolError for memory that the client did not lend. `segments`: what it
    lends now, by number.
    """

    @property
    def segments(self) -> Mapping[int, Bytes]: ...

    def attach(self, segment: Reference) -> None:
        """Accept a segment that the client announced; `length` is its size."""
        ...

    def detach(self, segment_number: int) -> None:
        """Drop a segment; what requests still refer to stays valid."""
        ...

    def payload(self, reference: Reference) -> memoryview:
        """Return a request's payload, valid until the reply."""
        ...

    def reply_target(self, references: Sequence[Reference]) -> ReplyTarget:
        """Return where the reply to a request goes."""
        ...
