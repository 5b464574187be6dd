"""The few system calls of the data plane: options, receiving, sending."""

from __future__ import annotations

import array
import os
import select
import socket
import sys
import time
from collections.abc import Sequence

from motet.transport.framing import IOV_MAX, advance

SWITCH_INTERVAL_S = 1e-4
_KEEPALIVE_IDLE_S = 5
_KEEPALIVE_INTERVAL_S = 2
_KEEPALIVE_PROBES = 3
_SILENCE_MS = 15_000
_MAX_DESCRIPTORS = 8
_ANCILLARY_BYTES = socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)


def use_short_switch_interval() -> None:
    """Let threads that wait for bytes take the interpreter sooner (100 microseconds, not 5 ms).

    Whoever owns the process calls it once; it changes the whole interpreter.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)


def tune(sock: socket.socket) -> None:
    """Set what every connection wants: no delay, and a dead peer noticed within 15 seconds."""
    sock.settimeout(None)
    if sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_INTERVAL_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE_MS)


def hang_up(sock: socket.socket) -> None:
    """Break the connection now: threads that block in it wake with an error."""
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def send_all(sock: socket.socket, views: Sequence[memoryview | bytes]) -> None:
    """Send the views in order; blocks until the kernel has taken them all."""
    sent = sock.sendmsg(views[:IOV_MAX])
    total = sum(map(len, views))
    if sent == total:
        return
    rest = [memoryview(view) for view in views]
    index, first = advance(rest, 0, sent)
    while index < len(rest):
        sent = sock.sendmsg([first, *rest[index + 1 : index + IOV_MAX]])
        done = rest[index].nbytes - first.nbytes
        index, first = advance(rest, index, done + sent)


class DeadlinePassed(Exception):
    """The caller's patience is over; unlike a TimeoutError of the kernel, nothing is broken."""


class BlockingSource:
    """Bytes from a socket, waiting as long as it takes."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def receive(self, view: memoryview) -> int:
        """See Source."""
        return _some(self._sock.recv_into(view))

    def receive_all(self, views: Sequence[memoryview]) -> int:
        """See Source."""
        if len(views) == 1:
            return _some(self._sock.recv_into(views[0], 0, socket.MSG_WAITALL))
        return _some(self._sock.recvmsg_into(views, 0, socket.MSG_WAITALL)[0])


class DescriptorSource(BlockingSource):
    """Bytes from a unix socket, collecting the file descriptors that come with them."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.descriptors: list[int] = []

    def receive(self, view: memoryview) -> int:
        """See Source."""
        count, ancillary, _, _ = self._sock.recvmsg_into(
            [view], _ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors = array.array("i")
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
                self.descriptors.extend(descriptors)
        return _some(count)

    def close(self) -> None:
        """Close descriptors that nobody took."""
        while self.descriptors:
            os.close(self.descriptors.pop())


class DeadlineSource(BlockingSource):
    """Bytes from a socket until a deadline, looking often for a short while before it sleeps.

    Waking a sleeping process on another core takes longer than a whole small request; looking
    again costs half a microsecond. `spin_s` is how long to look before sleeping.
    """

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self.deadline_s: float | None = None
        self.spin_s = 0.0

    def receive(self, view: memoryview) -> int:
        """See Source. Raises DeadlinePassed."""
        if self.spin_s:
            found = self._spin(view)
            if found:
                return found
        self._await_readable()
        return super().receive(view)

    def receive_all(self, views: Sequence[memoryview]) -> int:
        """See Source. Raises DeadlinePassed."""
        if self.deadline_s is None:
            return super().receive_all(views)
        self._await_readable()
        return _some(self._sock.recvmsg_into(views)[0])

    def _await_readable(self) -> None:
        if self.deadline_s is None:
            return
        remaining_ms = max(self.deadline_s - time.monotonic(), 0.0) * 1e3
        if not self._poll.poll(remaining_ms):
            raise DeadlinePassed

    def _spin(self, view: memoryview) -> int:
        give_up_s = time.monotonic() + self.spin_s
        while time.monotonic() < give_up_s:
            try:
                return _some(self._sock.recv_into(view, 0, socket.MSG_DONTWAIT))
            except BlockingIOError:
                os.sched_yield()
        return 0


def _some(count: int) -> int:
    if not count:
        raise ConnectionResetError("the peer closed the connection")
    return count
