"""The same-host backend: requests over an abstract unix socket, large payloads in shared memory.

Segments are anonymous files (`memfd_create`) whose descriptors travel over the socket. Neither has
a name in a file system, so a killed process leaves nothing behind.
"""

from __future__ import annotations

import array
import secrets
import socket
from collections.abc import Sequence
from dataclasses import replace

from motet.transport.backends.arena import Arena
from motet.transport.backends.lease import Lease
from motet.transport.backends.peer_segments import PeerSegments
from motet.transport.backends.socket_channel import SocketChannel, SocketListener
from motet.transport.backends.spin_policy import SpinPolicy
from motet.transport.endpoint import Endpoint, host_identity
from motet.transport.framing import ATTACH, DETACH, Reference, encode_header, encode_references

LEND_FROM_BYTES = 1 << 16
BACKLOG = 128
_MAX_DESCRIPTORS = 8
_CLOSE_ON_EXEC = int(socket.MSG_CMSG_CLOEXEC)
_ANCILLARY_BYTES = socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)


class SharedMemoryConnector:
    """Connects to a unix socket of this host and lends the arena's segments to the server."""

    def __init__(self, unix_name: str, arena: Arena) -> None:
        self._unix_name = unix_name
        self._arena = arena
        self._spin_policy = SpinPolicy()

    def connect(self, timeout_s: float) -> LendingChannel:
        """See Connector."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout_s)
            sock.connect(f"\0{self._unix_name}")
        except BaseException:
            sock.close()
            raise
        return LendingChannel(sock, self._spin_policy, self._arena)


class SharedMemoryListener(SocketListener):
    """Listens on a unix socket with a random abstract name."""

    def __init__(self) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._unix_name = f"motet-{secrets.token_hex(16)}"
        sock.bind(f"\0{self._unix_name}")
        sock.listen(BACKLOG)
        super().__init__(sock)

    def announce(self, endpoint: Endpoint) -> Endpoint:
        """See Listener."""
        return replace(endpoint, unix_name=self._unix_name, host_identity=host_identity())

    def accept(self) -> BorrowingChannel | None:
        """See Listener."""
        sock = self.accept_socket()
        return None if sock is None else BorrowingChannel(sock, SpinPolicy())


class LendingChannel(SocketChannel):
    """The client's end: announces segments before requests refer to them."""

    def __init__(self, sock: socket.socket, spin_policy: SpinPolicy, arena: Arena) -> None:
        super().__init__(sock, spin_policy)
        self._lender = SegmentLender(sock, arena)

    @property
    def lender(self) -> SegmentLender:
        """See ClientChannel."""
        return self._lender


class SegmentLender:
    """Lends segments of an arena over one unix socket."""

    lend_from_bytes = LEND_FROM_BYTES

    def __init__(self, sock: socket.socket, arena: Arena) -> None:
        self._sock = sock
        self._arena = arena
        self._attached: set[int] = set()

    def lease(self) -> Lease:
        """See MemoryLender."""
        return Lease(self._arena)

    def find(self, view: memoryview) -> Reference | None:
        """See MemoryLender."""
        return self._arena.find(view)

    def announce(self, references: Sequence[Reference]) -> None:
        """See MemoryLender. Detaches segments that the arena has freed in the meantime."""
        if len(references) == 1 and references[0].segment in self._attached:
            return
        used = {reference.segment for reference in references}
        if used <= self._attached:
            return
        for number in used - self._attached:
            segment = self._arena.segment(number)
            frame = _control_frame(ATTACH, Reference(number, 0, segment.size_bytes))
            send_descriptor(self._sock, frame, segment.descriptor)
        freed = self._attached - self._arena.segment_numbers
        for number in freed:
            self._sock.sendall(_control_frame(DETACH, Reference(number, 0, 0)))
        self._attached |= used
        self._attached -= freed


class BorrowingChannel(SocketChannel):
    """The server's end: collects the file descriptors that arrive with the bytes."""

    def __init__(self, sock: socket.socket, spin_policy: SpinPolicy) -> None:
        super().__init__(sock, spin_policy)
        self._segments = PeerSegments()

    @property
    def peer_memory(self) -> PeerSegments:
        """See ServerChannel."""
        return self._segments

    def close(self) -> None:
        """See Channel."""
        self._segments.close()
        super().close()

    def _receive(self, view: memoryview, flags: int) -> int:
        count, ancillary, _, _ = self._sock.recvmsg_into(
            [view], _ANCILLARY_BYTES, flags | _CLOSE_ON_EXEC
        )
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors = array.array("i")
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
                self._segments.add_descriptors(descriptors)
        return count


def send_descriptor(sock: socket.socket, data: bytes, descriptor: int) -> None:
    """Send a small message together with a file descriptor."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
    sent_bytes = sock.sendmsg([data], ancillary)
    if sent_bytes < len(data):
        sock.sendall(data[sent_bytes:])


def _control_frame(flag: int, reference: Reference) -> bytes:
    return encode_header(0, flag, 0, 1, 0, 0) + encode_references([reference])
