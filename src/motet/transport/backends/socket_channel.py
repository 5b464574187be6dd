"""The few system calls of the data plane: options, receiving, sending."""

from __future__ import annotations

import array
import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence

from motet.transport.backends.spin_policy import Patience
from motet.transport.framing import IOV_MAX, Piece, advance

SWITCH_INTERVAL_S = 1e-4
LOOK_FOR_S = 150e-6  # longer than a server takes to copy or to add 2 MB
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


def send_all(sock: socket.socket, pieces: Sequence[Piece]) -> None:
    """Send the pieces in order; blocks until the kernel has taken them all."""
    if len(pieces) == 1:
        sock.sendall(pieces[0])
        return
    index, first = advance(pieces, 0, 0)
    while index < len(pieces):
        sent_bytes = sock.sendmsg([first, *pieces[index + 1 : index + IOV_MAX]])
        done_bytes = len(pieces[index]) - len(first)
        index, first = advance(pieces, index, done_bytes + sent_bytes)


class DeadlinePassed(Exception):
    """The caller's patience is over; unlike a TimeoutError of the kernel, nothing is broken."""


class SocketSource:
    """Bytes from a blocking socket, until a deadline (monotonic clock; None: no deadline).

    Looks again and again for a short while before it sleeps: waking a sleeping process on another
    core takes longer than a whole small request, looking again takes half a microsecond.
    """

    def __init__(self, sock: socket.socket, patience: Patience) -> None:
        self._sock = sock
        self._patience = patience
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self.deadline_s: float | None = None

    def next_descriptor(self) -> int | None:
        """The file descriptor that came first and was not taken yet; the caller closes it."""
        return None

    def close(self) -> None:
        """Close descriptors that nobody took."""

    def receive(self, view: memoryview) -> int:
        """See Source. Raises DeadlinePassed."""
        if self._patience.is_worthwhile():
            count = self._look(view)
            if count:
                self._patience.found()
                return count
            self._patience.gave_up()
        self._await_readable()
        return _some(self._take(view, 0))

    def receive_all(self, views: Sequence[memoryview]) -> int:
        """See Source. Raises DeadlinePassed."""
        if self.deadline_s is not None:
            self._await_readable()
            return _some(self._sock.recvmsg_into(views)[0])
        if len(views) == 1:
            return _some(self._sock.recv_into(views[0], 0, socket.MSG_WAITALL))
        return _some(self._sock.recvmsg_into(views, 0, socket.MSG_WAITALL)[0])

    def _take(self, view: memoryview, flags: int) -> int:
        return self._sock.recv_into(view, 0, flags)

    def _await_readable(self) -> None:
        if self.deadline_s is None:
            return
        remaining_ms = max(self.deadline_s - time.monotonic(), 0.0) * 1e3
        if not self._poll.poll(remaining_ms):
            raise DeadlinePassed

    def _look(self, view: memoryview) -> int:
        """Receive if something comes in time, else 0. Other processes may have the core first."""
        give_up_s = 0.0
        while True:
            os.sched_yield()
            try:
                return self._take(view, socket.MSG_DONTWAIT)
            except BlockingIOError:
                now_s = time.perf_counter()
                give_up_s = give_up_s or now_s + LOOK_FOR_S
                if now_s >= give_up_s:
                    return 0


class DescriptorSource(SocketSource):
    """Bytes from a unix socket, collecting the file descriptors that come with them."""

    def __init__(self, sock: socket.socket, patience: Patience) -> None:
        super().__init__(sock, patience)
        self._descriptors: deque[int] = deque()

    def next_descriptor(self) -> int | None:
        """See SocketSource."""
        return self._descriptors.popleft() if self._descriptors else None

    def close(self) -> None:
        """See SocketSource."""
        while self._descriptors:
            os.close(self._descriptors.popleft())

    def _take(self, view: memoryview, flags: int) -> int:
        count, ancillary, _, _ = self._sock.recvmsg_into(
            [view], _ANCILLARY_BYTES, flags | socket.MSG_CMSG_CLOEXEC
        )
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors = array.array("i")
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
                self._descriptors.extend(descriptors)
        return count


def send_descriptor(sock: socket.socket, data: bytes, descriptor: int) -> None:
    """Send a small message together with a file descriptor."""
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))]
    sent_bytes = sock.sendmsg([data], ancillary)
    if sent_bytes < len(data):
        sock.sendall(data[sent_bytes:])


def _some(count: int) -> int:
    if not count:
        raise ConnectionResetError("the peer closed the connection")
    return count
