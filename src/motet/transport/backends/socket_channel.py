"""A channel over a connected stream socket: the system calls of the data plane."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Sequence

from motet.transport.backends.lane_sender import LaneSender
from motet.transport.backends.shared_link import SharedLink
from motet.transport.backends.spin_policy import SpinPolicy
from motet.transport.channel import DeadlinePassed
from motet.transport.framing import IOV_MAX, Piece, advance
from motet.transport.lanes import NO_LANE
from motet.transport.payload_memory import MemoryLender, PeerMemory

# Operations on the enumeration's own members cost two microseconds each.
DONT_WAIT, WAIT_ALL = int(socket.MSG_DONTWAIT), int(socket.MSG_WAITALL)
SPIN_FOR_S = 150e-6  # longer than a server takes to copy or to add 2 MB


class SocketChannel:
    """A blocking socket as a `ClientChannel` and `ServerChannel` without lent memory.

    Receiving polls for a short while before it blocks: waking a blocked process on another core
    takes longer than a whole small request, a poll takes half a microsecond.
    """

    def __init__(
        self,
        sock: socket.socket,
        spin_policy: SpinPolicy,
        *,
        is_exposed: bool = False,
        link: SharedLink | None = None,
        spin_for_s: float = SPIN_FOR_S,
    ) -> None:
        """`link`: that leads to the peer, if it has lanes; only of TCP. `spin_for_s`: how long one
        receive polls."""
        sock.settimeout(None)
        self.is_exposed = is_exposed
        self._lanes = None if link is None else LaneSender(sock, link)
        self._has_lane = False
        self._sock = sock
        self._spin_policy = spin_policy
        self._spin_for_s = spin_for_s
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self.deadline_s: float | None = None

    @property
    def lender(self) -> MemoryLender | None:
        """See ClientChannel."""
        return None

    @property
    def peer_memory(self) -> PeerMemory | None:
        """See ServerChannel."""
        return None

    def use_lane(self, lane: int) -> None:
        """See Channel."""
        if self._lanes is None:
            return
        if self._has_lane:
            self._lanes.end()
        self._has_lane = lane != NO_LANE
        if self._has_lane:
            self._lanes.begin(lane)

    def send(self, pieces: Sequence[Piece]) -> None:
        """See Channel."""
        if len(pieces) == 1 and not self._has_lane:
            self._sock.sendall(pieces[0])
            return
        index, first = advance(pieces, 0, 0)
        while index < len(pieces):
            rest = [first, *pieces[index + 1 : index + IOV_MAX]]
            sent_bytes = self.send_some(rest, may_block=True) or 0
            done_bytes = len(pieces[index]) - len(first)
            index, first = advance(pieces, index, done_bytes + sent_bytes)

    def send_some(self, pieces: Sequence[Piece], *, may_block: bool) -> int | None:
        """See Channel."""
        if self._lanes is not None and self._has_lane:
            return self._lanes.send_some(pieces, may_block=may_block)
        flags = 0 if may_block else DONT_WAIT
        try:
            if len(pieces) == 1:
                return self._sock.send(pieces[0], flags)
            return self._sock.sendmsg(pieces[:IOV_MAX], (), flags)
        except BlockingIOError:
            return None

    def receive(self, view: memoryview) -> int:
        """See Channel. Spins first if the policy allows it."""
        if self._spin_policy.should_spin():
            count = self._spin(view)
            if count:
                self._spin_policy.succeeded()
                return count
            self._spin_policy.failed()
        self._await_readable()
        return _some(self._receive(view, 0))

    def receive_all(self, views: Sequence[memoryview]) -> int:
        """See Channel. Fills the views in one system call unless there is a deadline."""
        if self.deadline_s is not None:
            self._await_readable()
            return _some(self._sock.recvmsg_into(views)[0])
        if len(views) == 1:
            return _some(self._sock.recv_into(views[0], 0, WAIT_ALL))
        return _some(self._sock.recvmsg_into(views, 0, WAIT_ALL)[0])

    def shutdown(self) -> None:
        """See Channel."""
        shut_down(self._sock)

    def close(self) -> None:
        """See Channel."""
        self._sock.close()

    def _receive(self, view: memoryview, flags: int) -> int:
        return self._sock.recv_into(view, 0, flags)

    def _await_readable(self) -> None:
        if self.deadline_s is None:
            return
        remaining_ms = max(self.deadline_s - time.monotonic(), 0.0) * 1e3
        if not self._poll.poll(remaining_ms):
            raise DeadlinePassed

    def _spin(self, view: memoryview) -> int:
        """Receive if bytes arrive in time, else return 0. Yields the core to other processes."""
        give_up_s = 0.0
        while True:
            os.sched_yield()
            try:
                return self._receive(view, DONT_WAIT)
            except BlockingIOError:
                now_s = time.perf_counter()
                give_up_s = give_up_s or now_s + self._spin_for_s
                if now_s >= give_up_s:
                    return 0


class SocketListener:
    """A listening socket whose `accept` ends when another thread shuts it down."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._is_shut_down = False

    def accept_socket(self) -> socket.socket | None:
        """Return the next connection; None after `shutdown`. Raises OSError."""
        try:
            sock, _ = self._sock.accept()
        except OSError:
            if self._is_shut_down:
                return None
            raise
        return sock

    def shutdown(self) -> None:
        """See Listener."""
        self._is_shut_down = True
        shut_down(self._sock)

    def close(self) -> None:
        """See Listener."""
        self._sock.close()


def shut_down(sock: socket.socket) -> None:
    """Shut both directions down: threads that block in the socket return or raise OSError."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _some(count: int) -> int:
    if not count:
        raise ConnectionResetError("the peer closed the connection")
    return count
