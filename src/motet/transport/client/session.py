"""A client's session with one server: the requests in flight, across broken connections.

When the channel breaks, the session opens another one and sends every unanswered request again in
the original order. Requests therefore arrive at least once and in order; a handler that must not
apply a request twice needs sequence numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Sequence

from motet.domain.errors import AuthenticationFailed, ConnectionLost, MotetError, Unreachable
from motet.transport.channel import DeadlinePassed
from motet.transport.client.burst import Burst
from motet.transport.client.call import Call
from motet.transport.client.dialler import Dialler
from motet.transport.client.pinger import Pinger
from motet.transport.client.request_stream import RequestStream
from motet.transport.framing import Header

_FIRST_ATTEMPTS = 3
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.5


class Session:
    """Sends calls over the current stream and replaces it when it breaks. Thread-safe.

    `retry_for_s`: how long to try to reconnect. `first_answer_s`: how long a server that does not
    refuse the first connection may leave it without an answer. `on_end` is called once the session
    has ended for good and all its calls have failed. Raises Unreachable, AuthenticationFailed.
    """

    def __init__(
        self,
        dialler: Dialler,
        retry_for_s: float,
        on_end: Callable[[], None],
        first_answer_s: float = 0.0,
    ) -> None:
        self._dialler = dialler
        self._retry_for_s = retry_for_s
        self._on_end = on_end
        self._lock = threading.Lock()
        self._operations = itertools.count(1)
        self._outstanding: dict[int, Call | Burst] = {}
        self._retired: list[RequestStream] = []
        self._closing = threading.Event()
        self._broken_since_s: float | None = None
        self._end: MotetError | None = None
        self._pinger: Pinger | None = None
        self.stream = self._first_stream(first_answer_s)
        if self.stream.can_ping:
            self._pinger = Pinger(self.ping)

    @property
    def outstanding_count(self) -> int:
        """Number of requests without a reply."""
        return len(self._outstanding)

    @property
    def is_reconnecting(self) -> bool:
        """Whether the channel broke and has not been replaced yet."""
        return self._broken_since_s is not None

    @property
    def has_ended(self) -> bool:
        """Whether it ended for good: all requests fail."""
        return self._end is not None

    def send(self, call: Call) -> None:
        """Send a request; `take` returns the call by operation number. Raises ConnectionLost."""
        operation = next(self._operations)
        self._send([operation], call, lambda stream: stream.send(operation, call))

    def send_burst(self, burst: Burst) -> None:
        """Send several requests; `take` returns the burst for each. Raises ConnectionLost: all of
        them fail."""
        operations = burst.number(self._operations)
        self._send(operations, burst, lambda stream: stream.send_burst(operations, burst))

    def _send(
        self, operations: Sequence[int], call: Call | Burst, send: Callable[[RequestStream], None]
    ) -> None:
        with self._lock:
            if self._end is not None:
                raise self._end
            for operation in operations:
                self._outstanding[operation] = call
            stream = self.stream
            try:
                send(stream)
            except OSError as error:
                stream.channel.shutdown()
                self._reconnect(error, None)
            except BaseException:  # an interrupt in mid-frame
                stream.channel.shutdown()
                raise

    def take(self, operation: int) -> Call | Burst | None:
        """Remove and return the outstanding call that a complete reply belongs to."""
        return self._outstanding.pop(operation, None)

    def recover(self, stream: RequestStream, error: Exception, deadline_s: float | None) -> None:
        """Replace a broken stream unless another thread has replaced it already.

        Raises DeadlinePassed, and ConnectionLost if that takes too long.
        """
        stream.channel.shutdown()
        with self._lock:
            if self.stream is stream and self._end is None:
                self._reconnect(error, deadline_s)

    def ping(self) -> None:
        """Find out whether a frame was dropped, if requests are unanswered; reconnect if so."""
        with self._lock:
            if not self._outstanding or self._end is not None:
                return
            try:
                self.stream.ping()
            except OSError as error:
                self.stream.channel.shutdown()
                with contextlib.suppress(MotetError):  # The calls raise it.
                    self._reconnect(error, None)

    def close_retired(self) -> None:
        """Close channels that were replaced. Only the reader may call it: it may use them."""
        while self._retired:
            self._retired.pop().channel.close()

    def close(self) -> None:
        """End for good; calls in flight raise ConnectionLost."""
        self._closing.set()
        if self._pinger is not None:
            self._pinger.close()
        self.stream.channel.shutdown()
        with self._lock:
            self._finish(self._lost(None))

    def _reconnect(self, error: Exception, deadline_s: float | None) -> None:
        """Connect and send every unanswered request again. The caller holds the lock."""
        if self._broken_since_s is None:
            self._broken_since_s = time.monotonic()
        give_up_s = self._broken_since_s + self._retry_for_s
        pause_s = _FIRST_PAUSE_S
        while time.monotonic() < give_up_s and not self._closing.is_set():
            if deadline_s is not None and time.monotonic() >= deadline_s:
                raise DeadlinePassed
            try:
                self._replace_stream()
            except (OSError, AuthenticationFailed) as again:
                # The server has accepted this client before: its answer may have been changed.
                error = again
                self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return
        lost = error if isinstance(error, AuthenticationFailed) else self._lost(error)
        self._finish(lost)
        raise lost

    def _replace_stream(self) -> None:
        stream = self._open_stream()
        self._retired.append(self.stream)
        self.stream = stream
        for operation, call in list(self._outstanding.items()):
            if isinstance(call, Burst):
                stream.send_burst((operation,), call)
            else:
                stream.send(operation, call)
        self._broken_since_s = None

    def _first_stream(self, answer_s: float) -> RequestStream:
        """Open a stream; try again if a busy server dropped the handshake, or was late for it."""
        give_up_s = time.monotonic() + answer_s
        for attempt in itertools.count(1):
            try:
                return self._open_stream()
            except OSError as error:
                is_dropped = isinstance(error, ConnectionResetError)
                is_early = time.monotonic() < give_up_s
                if is_dropped and attempt < _FIRST_ATTEMPTS:
                    continue
                if is_early and (is_dropped or isinstance(error, TimeoutError)):
                    self._closing.wait(_FIRST_PAUSE_S)
                    continue
                raise Unreachable(
                    f"no server answers at {self._dialler.endpoint}: {error}; "
                    "does the server still run?"
                ) from error
        raise AssertionError("unreachable")

    def _open_stream(self) -> RequestStream:
        return RequestStream(self._dialler.dial(), self._place)

    def _place(self, header: Header, references: bytes, meta: bytes) -> Sequence[memoryview]:
        """Return where a reply's payload goes; a reply without a call is received and dropped."""
        del references, meta
        call = self._outstanding.get(header.operation)
        if call is None:
            return [memoryview(bytearray(header.payload_bytes))]
        return call.place(header.payload_bytes)

    def _finish(self, error: MotetError) -> None:
        """End for good: outstanding and later calls raise `error`. The caller holds the lock."""
        if self._end is None:
            self._end = error
            self._retired.append(self.stream)
            self.stream.channel.shutdown()
        while self._outstanding:
            operation, call = self._outstanding.popitem()
            if isinstance(call, Burst):
                call.fail(operation, self._end)
            else:
                call.fail(self._end)
        self._on_end()

    def _lost(self, error: Exception | None) -> ConnectionLost:
        peer = self._dialler.endpoint
        if self._closing.is_set():
            return ConnectionLost(f"the connection to {peer} was closed here")
        tried = f" and could not be re-established within {self._retry_for_s:g} s"
        return ConnectionLost(
            f"the connection to {peer} broke ({error}){tried if self._retry_for_s else ''}"
        )
