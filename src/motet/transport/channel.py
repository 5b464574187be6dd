"""The port between the data plane and the backends that carry its bytes.

A backend is a `Connector` for clients and a `Listener` for servers. Both return channels: ordered,
reliable streams of bytes, with optional access to memory that the peer lends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from motet.transport.endpoint import Endpoint
from motet.transport.framing import Piece
from motet.transport.payload_memory import MemoryLender, PeerMemory


class DeadlinePassed(Exception):
    """The caller's deadline passed. Unlike a TimeoutError of the system, the channel is intact."""


class ByteSource(Protocol):
    """The receiving half. Both methods raise OSError at the end of the stream."""

    def receive(self, view: memoryview) -> int:
        """Receive between one byte and all of `view`; return how many."""
        ...

    def receive_all(self, views: Sequence[memoryview]) -> int:
        """Receive at least one byte into the views, in order, and all of them if possible."""
        ...


class Channel(ByteSource, Protocol):
    """One end of a connection. One thread may receive while others send.

    Once the connection is broken or shut down, sending and receiving raise OSError.
    `deadline_s`: when receiving raises DeadlinePassed (monotonic clock; None: never).
    """

    deadline_s: float | None

    @property
    def is_exposed(self) -> bool:
        """Whether the bytes leave this host, so that others can read and change them."""
        ...

    def use_lane(self, lane: int) -> None:
        """Send in this lane (`lanes`) from now on; nothing changes where the link has none."""
        ...

    def send(self, pieces: Sequence[Piece]) -> None:
        """Send the pieces in order; blocks until all of them are taken."""
        ...

    def send_some(self, pieces: Sequence[Piece], *, may_block: bool) -> int | None:
        """Send a part of the pieces and return its size; None if that would block and must not."""
        ...

    def shutdown(self) -> None:
        """Break the connection, from any thread; threads that block in it raise OSError."""
        ...

    def close(self) -> None:
        """Free the channel; no thread may use it any more."""
        ...


class ClientChannel(Channel, Protocol):
    """A client's end. `lender`: how to lend memory to the server; None if that is impossible."""

    @property
    def lender(self) -> MemoryLender | None: ...


class ServerChannel(Channel, Protocol):
    """A server's end. `peer_memory`: what the client lends; None if that is impossible."""

    @property
    def peer_memory(self) -> PeerMemory | None: ...


class Connector(Protocol):
    """One way to reach one server. Used for the first connection and for every later one."""

    def connect(self, timeout_s: float) -> ClientChannel:
        """Return a connected channel. Raises OSError."""
        ...


class Listener(Protocol):
    """One way for clients to reach a server."""

    def announce(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint with this listener's address in it."""
        ...

    def accept(self) -> ServerChannel | None:
        """Wait for the next connection; None after `shutdown`.

        Raises OSError if one could not be accepted; later ones may be.
        """
        ...

    def shutdown(self) -> None:
        """Accept no connection from now on, from any thread; a thread in `accept` returns."""
        ...

    def close(self) -> None:
        """Free the address; no thread may be in `accept` any more."""
        ...
