"""A client's link to one server: what is under way, and how it survives a broken socket.

When the socket breaks, another one is opened and every unanswered request is sent again in its
original order: delivered at least once, in order. Whoever must not act twice numbers requests.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable, Sequence

from motet.domain.errors import AuthenticationFailed, ConnectionLost, MotetError, Unreachable
from motet.transport.backends.shared_memory import Arena
from motet.transport.backends.socket_channel import DeadlinePassed, hang_up
from motet.transport.backends.spin_policy import Patience
from motet.transport.client.call import Call
from motet.transport.client.dialler import Dialler
from motet.transport.client.stream import ClientStream, SharedStream
from motet.transport.framing import Header

_FIRST_ATTEMPTS = 3
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.5


class Link:
    """Sends calls over the current stream; replaces it when it breaks. Thread-safe.

    `retry_for_s`: how long to try to connect again. `on_end` is called once the link has ended for
    good and all its calls have failed. Raises Unreachable, AuthenticationFailed.
    """

    def __init__(
        self, dialler: Dialler, arena: Arena, retry_for_s: float, on_end: Callable[[], None]
    ) -> None:
        self._dialler = dialler
        self._arena = arena
        self._retry_for_s = retry_for_s
        self._on_end = on_end
        self._lock = threading.Lock()
        self._patience = Patience()
        self._operations = itertools.count(1)
        self._outstanding: dict[int, Call] = {}
        self._retired: list[ClientStream] = []
        self._closing = threading.Event()
        self._broken_since_s: float | None = None
        self._end: MotetError | None = None
        self.stream = self._first_stream()

    @property
    def outstanding_count(self) -> int:
        """Requests without a reply so far."""
        return len(self._outstanding)

    @property
    def is_searching(self) -> bool:
        """Whether the socket broke and no other one was opened yet."""
        return self._broken_since_s is not None

    def send(self, call: Call) -> None:
        """Send a request; its reply carries a number that `take` knows. Raises ConnectionLost."""
        operation = next(self._operations)
        with self._lock:
            if self._end is not None:
                raise self._end
            self._outstanding[operation] = call
            stream = self.stream
            try:
                stream.send(operation, call)
            except OSError as error:
                hang_up(stream.sock)
                self._reconnect(error, None)
            except BaseException:  # an interrupt in mid-frame
                hang_up(stream.sock)
                raise

    def take(self, operation: int) -> Call | None:
        """The call that a complete reply belongs to; it is not outstanding any more."""
        return self._outstanding.pop(operation, None)

    def recover(self, stream: ClientStream, error: Exception, deadline_s: float | None) -> None:
        """Replace a broken stream unless another thread did already.

        Raises DeadlinePassed, and ConnectionLost if that takes too long.
        """
        hang_up(stream.sock)
        with self._lock:
            if self.stream is stream and self._end is None:
                self._reconnect(error, deadline_s)

    def discard_retired(self) -> None:
        """Close sockets that were replaced. Only for the thread that reads, or if none does."""
        while self._retired:
            self._retired.pop().sock.close()

    def close(self) -> None:
        """End for good; calls that are under way raise ConnectionLost."""
        self._closing.set()
        hang_up(self.stream.sock)
        with self._lock:
            self._finish(self._lost(None))

    def _reconnect(self, error: Exception, deadline_s: float | None) -> None:
        """Connect and send everything unanswered again. Holds the lock."""
        if self._broken_since_s is None:
            self._broken_since_s = time.monotonic()
        give_up_s = self._broken_since_s + self._retry_for_s
        pause_s = _FIRST_PAUSE_S
        while time.monotonic() < give_up_s and not self._closing.is_set():
            if deadline_s is not None and time.monotonic() >= deadline_s:
                raise DeadlinePassed
            try:
                self._replace_stream()
            except AuthenticationFailed as refused:
                self._finish(refused)
                raise
            except OSError as again:
                error = again
                self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return
        lost = self._lost(error)
        self._finish(lost)
        raise lost

    def _replace_stream(self) -> None:
        stream = self._open_stream()
        self._retired.append(self.stream)
        self.stream = stream
        for operation, call in list(self._outstanding.items()):
            stream.send(operation, call)
        self._broken_since_s = None

    def _first_stream(self) -> ClientStream:
        """Like `_open_stream`, again if a busy server hung up in mid-handshake."""
        for attempt in itertools.count(1):
            try:
                return self._open_stream()
            except OSError as error:
                if isinstance(error, ConnectionResetError) and attempt < _FIRST_ATTEMPTS:
                    continue
                raise Unreachable(
                    f"nobody answers at {self._dialler.endpoint}: {error}; "
                    "does the server still run?"
                ) from error
        raise AssertionError("unreachable")

    def _open_stream(self) -> ClientStream:
        sock = self._dialler.dial()
        if sock.family == socket.AF_UNIX:
            return SharedStream(sock, self._place, self._patience, self._arena)
        return ClientStream(sock, self._place, self._patience)

    def _place(self, header: Header, references: bytes, meta: bytes) -> Sequence[memoryview]:
        """Where a reply's payload goes; one that nobody waits for any more goes nowhere."""
        del references, meta
        call = self._outstanding.get(header.operation)
        if call is None:
            return [memoryview(bytearray(header.payload_bytes))]
        return call.place(header.payload_bytes)

    def _finish(self, error: MotetError) -> None:
        """End for good: every outstanding and later call raises `error`. Holds the lock."""
        if self._end is None:
            self._end = error
            self._retired.append(self.stream)
            hang_up(self.stream.sock)
        while self._outstanding:
            _, call = self._outstanding.popitem()
            call.fail(self._end)
        self._on_end()

    def _lost(self, error: Exception | None) -> ConnectionLost:
        peer = self._dialler.endpoint
        if self._closing.is_set():
            return ConnectionLost(f"the connection to {peer} was closed here")
        tried = f" and could not be made again within {self._retry_for_s:g} s"
        return ConnectionLost(
            f"the connection to {peer} broke ({error}){tried if self._retry_for_s else ''}"
        )
