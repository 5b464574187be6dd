"""The gate of a worker that shares its machine with other jobs."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from motet.runtime.arbiter.messages import (
    CODES,
    GRANTED,
    HELLO,
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
from motet.runtime.arbiter.token_table import Token
from motet.runtime.core.subtask import SubtaskKind, monotonic_us
from motet.runtime.worker.subtask_gate import OPEN_GATE
from motet.transport.lanes import NO_LANE, PRIMARY, SECONDARY

PATIENCE_S = 1.0
"""An arbiter that does not answer a PING within this time is taken for stopped."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""Subtasks run without tokens for so long before a lost arbiter is looked for again."""
MOST_NAME_BYTES = 200


class ArbiterGate:
    """A SubtaskGate whose subtasks wait for the tokens of this machine.

    A job that is alone on its machine asks for none. Without an arbiter, because it was killed or
    is stopped, subtasks are admitted at once: jobs run on and no longer take turns, until an
    arbiter answers again.
    """

    def __init__(
        self, address: Path, ensure: Callable[[], None] = lambda: None, job: str = ""
    ) -> None:
        """`address`: of the arbiter; `ensure`: called before every attempt to connect. `job`: the
        same in all processes of a job on a machine, and in no others; empty: there is one process.
        """
        self._address, self._ensure = address, ensure
        self._hello = HELLO + job.encode()[:MOST_NAME_BYTES]
        self._began_us = 0
        self._of_thread = threading.local()
        self._flag: SharingFlag | None = None

    @property
    def is_free(self) -> bool:
        """Whether the job is alone on its machine."""
        return self._flag is not None and not self._flag.is_set

    def begin(self) -> None:
        """A mini-batch begins: its subtasks come after those of mini-batches that began before."""
        self._began_us = monotonic_us()

    def lane(self) -> int:
        """The lane of what the calling thread sends: of the network token that it holds."""
        admission: _Admission | None = getattr(self._of_thread, "admission", None)
        return NO_LANE if admission is None else admission.lane()

    def enter(self, kind: SubtaskKind) -> AbstractContextManager[bool]:
        """Wait for the token of this kind of subtask."""
        admission: _Admission | None = getattr(self._of_thread, "admission", None)
        if admission is None:
            admission = _Admission(self._connected)
            self._of_thread.admission = admission
        elif self.is_free:
            return OPEN_GATE.enter(kind)
        admission.token = TOKENS[kind]
        admission.request = REQUEST.pack(CODES[kind], self._began_us)
        return admission

    def _connected(self) -> socket.socket:
        """A connection to the arbiter. Raises OSError."""
        self._ensure()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            timeout = struct.pack("@ll", int(PATIENCE_S), int(PATIENCE_S % 1 * 1e6))
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                connection.setsockopt(socket.SOL_SOCKET, option, timeout)
            with short_address(self._address) as place:
                connection.connect(place)
            connection.send(self._hello)
            if self._flag is None:
                self._flag = SharingFlag(self._address)
        except OSError:
            connection.close()
            raise
        return connection


class _Admission:
    """One thread's connection, used as the context of one subtask after the other."""

    token, request = Token.CPU, b""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._connection: socket.socket | None = None
        self._lane = NO_LANE
        self._pause_s, self._retry_s = FIRST_PAUSE_S, 0.0

    def __enter__(self) -> bool:
        try:
            if self._connection is None and time.monotonic() >= self._retry_s:
                self._connection = self._connect()
            if self._connection is not None:
                self._connection.send(self.request)
                is_second = self._await_grant(self._connection)
                if self.token is Token.NETWORK:
                    self._lane = SECONDARY if is_second else PRIMARY
                self._pause_s = FIRST_PAUSE_S
        except OSError:
            self._lose()
        return self._lane == SECONDARY

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lane = NO_LANE
        if self._connection is not None:
            try:
                self._connection.send(RELEASE)
            except OSError:
                self._lose()

    def lane(self) -> int:
        """Of the subtask that runs now."""
        if self._lane == SECONDARY and self._connection is not None:
            try:
                if self._connection.recv(1, socket.MSG_DONTWAIT) == PROMOTED:
                    self._lane = PRIMARY
            except OSError:  # Nothing is there; an arbiter that is gone is noticed at the end.
                pass
        return self._lane

    def _await_grant(self, connection: socket.socket) -> bool:
        """Whether another one is primary. Raises OSError if the arbiter is gone or stopped."""
        is_asked = False
        while True:
            try:
                message = connection.recv(1)
            except BlockingIOError:  # SO_RCVTIMEO: another job holds the token, or it is stopped.
                if is_asked:
                    raise
                connection.send(PING)
                is_asked = True
                continue
            if message in (GRANTED, SECOND):
                return message == SECOND
            if message == PONG:
                is_asked = False
            elif message != PROMOTED:  # In the subtask before.
                raise ConnectionError

    def _lose(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._retry_s = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
