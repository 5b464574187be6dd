"""Finds executors that answer nothing though they have not ended.

A process that was stopped (SIGSTOP), or whose host stands still, keeps its connections: the job
would wait for it forever. An executor answers pings while it computes, on a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from motet.domain.errors import AuthenticationFailed, MotetError, Unreachable
from motet.runtime.controller.ports import ExecutorHandle, ExecutorLost
from motet.runtime.wire.control_messages import Ping
from motet.runtime.wire.exchange import submit
from motet.transport import Arena, Call, Connection

_ROUNDS = 10
_READ_TIMEOUT_S = 0.01
_LONGEST_ATTEMPT_S = 5.0  # to connect
# An application may hold the interpreter in one long call; then only the CPU time tells.
_LEAST_CPU_SHARE = 0.02
_CLOSE_TIMEOUT_S = 30.0


class LivenessProbe:
    """Pings one executor, over a connection of its own.

    `silent_s`: how long this process has waited for an answer.
    """

    def __init__(self, handle: ExecutorHandle, secret: bytes, arena: Arena, ping: Ping) -> None:
        self.silent_s = 0.0
        self._handle = handle
        self._secret = secret
        self._arena = arena
        self._ping = ping
        self._connection: Connection | None = None
        self._call: Call | None = None
        self._cpu_s: float | None = None

    def probe(self, every_s: float) -> None:
        """Read the answer to the ping of `every_s` ago; send the next one."""
        if self._cpu_s is None:
            self._cpu_s = self._handle.cpu_s()
        began_s = time.monotonic()
        answers = self._answers()
        waited_s = every_s + min(time.monotonic() - began_s, _LONGEST_ATTEMPT_S)
        computes = self._computes(waited_s)
        self.silent_s = 0.0 if answers or computes else self.silent_s + waited_s

    def close(self) -> None:
        """End the connection."""
        connection, self._connection, self._call = self._connection, None, None
        if connection is not None:
            connection.close()

    def _answers(self) -> bool:
        try:
            if self._call is not None:
                self._call.wait(_READ_TIMEOUT_S)
            self._call = submit(self._connected(), self._ping)
        except TimeoutError:
            return False
        except (Unreachable, AuthenticationFailed, ExecutorLost):
            self.close()
            return False
        except MotetError:  # an answer, too
            self._call = None
        return True

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = Connection(
                self._handle.endpoint(),
                self._secret,
                arena=self._arena,
                shared_memory=False,
                retry_for_s=0.0,
            )
        return self._connection

    def _computes(self, waited_s: float) -> bool:
        before_s, self._cpu_s = self._cpu_s, self._handle.cpu_s()
        if before_s is None or self._cpu_s is None:
            return False
        return self._cpu_s - before_s >= _LEAST_CPU_SHARE * waited_s


class LivenessWatch:
    """Probes the executors of a generation, on a thread of its own."""

    def __init__(
        self,
        handles: Callable[[], Sequence[ExecutorHandle]],
        secret: bytes,
        generation: int,
        lost_after_s: float,
        on_silent: Callable[[Sequence[ExecutorHandle]], None],
    ) -> None:
        """`handles`: the present executors.

        `on_silent(handles)` is called, once, on the watch's thread, when some of them have not
        answered for `lost_after_s`.
        """
        self._handles = handles
        self._secret = secret
        self._ping = Ping(generation)
        self._lost_after_s = lost_after_s
        self._every_s = lost_after_s / _ROUNDS
        self._on_silent = on_silent
        self._arena = Arena()
        self._probes: dict[ExecutorHandle, LivenessProbe] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="motet-liveness", daemon=True)

    def start(self) -> None:
        """Begin to probe."""
        self._thread.start()

    def close(self) -> None:
        """Stop probing; returns after `on_silent` if that is being called."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        # Rounds are added up, not read from a clock: after this process was stopped itself (Ctrl-Z)
        # and continued, executors have as many rounds to answer as before.
        while not self._is_over.wait(self._every_s):
            silent = self._round()
            if silent:
                self._on_silent(silent)
                break
        for probe in self._probes.values():
            probe.close()

    def _round(self) -> list[ExecutorHandle]:
        handles = self._handles()
        for gone in self._probes.keys() - set(handles):
            self._probes.pop(gone).close()
        for handle in handles:
            if handle not in self._probes:
                probe = LivenessProbe(handle, self._secret, self._arena, self._ping)
                self._probes[handle] = probe
            self._probes[handle].probe(self._every_s)
        return [handle for handle in handles if self._probes[handle].silent_s >= self._lost_after_s]
