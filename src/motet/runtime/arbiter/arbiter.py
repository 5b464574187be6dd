"""The arbiter's process: serves the workers of one machine on a Unix domain socket.

Every thread of a worker has a connection of its own. The token of a connection that is closed, by
its owner or by the end of its process, is free at once.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path

from motet.runtime.arbiter.holding_log import Holding, HoldingLog
from motet.runtime.arbiter.messages import (
    GRANTED,
    HELLO,
    KINDS,
    MOST_BYTES,
    PING,
    PONG,
    PROMOTED,
    RELEASE,
    REQUEST,
    SECOND,
    TOKENS,
)
from motet.runtime.arbiter.sharing_flag import SharingFlag
from motet.runtime.arbiter.socket_path import short_address
from motet.runtime.arbiter.token_table import BadTokenRequest, Token, TokenTable
from motet.runtime.core.subtask import SubtaskKind

IDLE_S = 5.0
"""An arbiter without connections ends after so long."""
READY = b"ready"
_CREDENTIALS = struct.Struct("3i")  # Process, user, group: struct ucred.


class Arbiter:
    """Hands out the tokens of a table to connections, in one thread."""

    def __init__(
        self, listener: socket.socket, table: TokenTable, flag: SharingFlag, log: HoldingLog
    ) -> None:
        self._listener, self._table, self._flag, self._log = listener, table, flag, log
        self._connections: dict[int, socket.socket] = {}
        self._jobs: dict[int, str] = {}
        self._kinds: dict[int, SubtaskKind] = {}
        self._primary: int | None = None
        self._poll = select.epoll()
        self._poll.register(listener.fileno(), select.EPOLLIN)

    def serve(self, idle_s: float) -> None:
        """Return when there has been no connection for so long."""
        while True:
            events = self._poll.poll(self._timeout_s(idle_s))
            if not events and not self._connections:
                return
            for descriptor, _ in events:
                if descriptor == self._listener.fileno():
                    self._accept()
                else:
                    self._receive(descriptor)
            if self._table.next_expiry_us() is not None:
                self._tell(self._table.expire(_now_us()))

    def _timeout_s(self, idle_s: float) -> float:
        if not self._connections:
            return idle_s
        expiry_us = self._table.next_expiry_us()
        return -1 if expiry_us is None else max(expiry_us - _now_us(), 0) / 1e6

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        size = _CREDENTIALS.size
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        process, user, _ = _CREDENTIALS.unpack(found)
        if user != os.getuid():
            connection.close()
            return
        connection.setblocking(False)
        descriptor = connection.fileno()
        self._connections[descriptor] = connection
        self._jobs[descriptor] = f"process {process}"
        self._poll.register(descriptor, select.EPOLLIN)
        self._count_jobs()

    def _receive(self, descriptor: int) -> None:
        connection = self._connections.get(descriptor)
        if connection is None:  # Closed by an event before in the same round.
            return
        try:
            message = connection.recv(MOST_BYTES)
            if message == RELEASE:
                self._release(descriptor)
            elif message == PING:
                connection.send(PONG)
            elif message.startswith(HELLO):
                self._named(descriptor, message.removeprefix(HELLO).decode())
            else:
                self._request(descriptor, *REQUEST.unpack(message))
        except BlockingIOError:
            return
        except (OSError, KeyError, ValueError, struct.error, BadTokenRequest):
            self._drop(descriptor)  # No message: the other end is closed.

    def _request(self, descriptor: int, code: int, began_us: int) -> None:
        """Raises KeyError, BadTokenRequest."""
        kind = KINDS[code]
        self._kinds[descriptor] = kind
        self._tell(self._table.request(descriptor, TOKENS[kind], _now_us(), began_us))

    def _release(self, descriptor: int) -> None:
        now_us, since_us = _now_us(), self._table.held_since_us(descriptor)
        self._tell(self._table.release(descriptor, now_us))
        if since_us is None:
            return
        end_us = time.time_ns() // 1000
        kind, job = self._kinds[descriptor], self._jobs[descriptor]
        with suppress(OSError):  # A full disk holds up no subtask.
            self._log.add(Holding(end_us - (now_us - since_us), end_us, kind, job))

    def _named(self, descriptor: int, job: str) -> None:
        if job:
            self._jobs[descriptor] = job
            self._count_jobs()

    def _tell(self, granted: list[int]) -> None:
        messages = [(each, SECOND if self._table.is_second(each) else GRANTED) for each in granted]
        primary = self._table.first(Token.NETWORK)
        if primary != self._primary:
            self._primary = primary
            if primary is not None and primary not in granted:
                messages.append((primary, PROMOTED))
        for descriptor, message in messages:
            connection = self._connections.get(descriptor)
            if connection is None:  # Dropped with an answer before.
                continue
            try:
                connection.send(message)
            except OSError:  # It does not read its answers, or is gone.
                self._drop(descriptor)

    def _count_jobs(self) -> None:
        """Threads of a job, and its processes, have connections of their own."""
        self._flag.write(len(set(self._jobs.values())))

    def _drop(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._connections.pop(descriptor).close()
        del self._jobs[descriptor]
        self._kinds.pop(descriptor, None)
        self._count_jobs()
        self._tell(self._table.release(descriptor, _now_us()))


def run_arbiter(address: Path, table: TokenTable, ready: int, idle_s: float = IDLE_S) -> bool:
    """Serve at `address` until nobody is connected; False if another arbiter does.

    `ready`: a descriptor that gets READY as soon as connections are accepted.
    """
    lock = os.open(f"{address}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        with short_address(address) as place:
            listener.bind(place)
        listener.listen(socket.SOMAXCONN)
        os.write(ready, READY)
        os.close(ready)
        Arbiter(listener, table, SharingFlag(address), HoldingLog(address)).serve(idle_s)
        address.unlink(missing_ok=True)
    return True


def _now_us() -> int:
    return time.monotonic_ns() // 1000
