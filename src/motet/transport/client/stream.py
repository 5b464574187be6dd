"""One connected socket of a client, and how requests are written to it."""

from __future__ import annotations

import socket

from motet.transport.backends.lease import Lease
from motet.transport.backends.shared_memory import Arena
from motet.transport.backends.socket_channel import SocketSource, send_all, send_descriptor
from motet.transport.backends.spin_policy import Patience
from motet.transport.client.call import Call
from motet.transport.frame_reader import FrameReader, Place
from motet.transport.framing import (
    ATTACH,
    DETACH,
    JOIN_BYTES,
    SHARED_PAYLOAD,
    Reference,
    encode_header,
    encode_references,
)

SHARE_FROM_BYTES = 1 << 16


class ClientStream:
    """A socket whose payloads travel on it. Replaced by another stream when it breaks."""

    is_local = False

    def __init__(self, sock: socket.socket, place: Place, patience: Patience) -> None:
        self.sock = sock
        self.source = SocketSource(sock, patience)
        self.reader = FrameReader(self.source, place)

    def send(self, operation: int, call: Call) -> None:
        """Send a request; blocks until the kernel has taken it. Raises OSError."""
        meta = call.meta
        header = encode_header(call.kind, 0, operation, 0, len(meta), call.payload_bytes)
        if call.payload_bytes <= JOIN_BYTES:
            self.sock.sendall(b"".join((header, meta, *call.views)))
        else:
            send_all(self.sock, [b"".join((header, meta)), *call.views])


class SharedStream(ClientStream):
    """A unix socket; large payloads stay in memory that both ends see."""

    is_local = True

    def __init__(self, sock: socket.socket, place: Place, patience: Patience, arena: Arena) -> None:
        super().__init__(sock, place, patience)
        self._arena = arena
        self._attached: set[int] = set()

    def send(self, operation: int, call: Call) -> None:
        """Send a request; blocks until the kernel has taken it. Raises OSError."""
        is_shared = call.payload_bytes >= SHARE_FROM_BYTES
        if not is_shared and call.into_bytes < SHARE_FROM_BYTES:
            super().send(operation, call)
            return
        references = self._references(call, is_shared)
        header = encode_header(
            call.kind,
            SHARED_PAYLOAD if is_shared else 0,
            operation,
            len(references),
            len(call.meta),
            call.payload_bytes,
        )
        head = b"".join((header, encode_references(references), call.meta))
        send_all(self.sock, [head] if is_shared else [head, *call.views])

    def _references(self, call: Call, is_shared: bool) -> list[Reference]:
        """Where the payload is (if shared) and where the reply's payload shall go."""
        if call.lease is None:
            call.lease = Lease(self._arena)
        references = []
        if is_shared:
            references.append(call.lease.payload(call.views, call.payload_bytes))
        if call.into and call.into_bytes >= SHARE_FROM_BYTES:
            references += call.lease.targets(call.into, call.into_bytes)
        self._announce({reference.segment for reference in references})
        return references

    def _announce(self, used: set[int]) -> None:
        """Let the server map the segments in use, and forget those that are gone."""
        if used <= self._attached:
            return
        for number in used - self._attached:
            segment = self._arena.segment(number)
            frame = _control(ATTACH, Reference(number, 0, segment.size_bytes))
            send_descriptor(self.sock, frame, segment.descriptor)
        gone = self._attached - self._arena.segment_numbers
        for number in gone:
            self.sock.sendall(_control(DETACH, Reference(number, 0, 0)))
        self._attached |= used
        self._attached -= gone


def _control(flag: int, reference: Reference) -> bytes:
    return encode_header(0, flag, 0, 1, 0, 0) + encode_references([reference])
