"""The calling end: many requests may be under way, and whoever waits reads the socket.

There is no receiving thread: handing a reply from one thread to another takes longer than the
whole request. The first thread that waits leads: it reads replies, its own and those of others,
until its own is there; then the next waiting thread leads.

When the socket breaks, the connection is made again and every unanswered request is sent again in
its original order: delivered at least once, in order. Whoever must not act twice numbers requests.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from motet.domain.errors import AuthenticationFailed, ConnectionLost, MotetError, Unreachable
from motet.transport.authentication import LINK_BYTES, MAX_CLIENT_ID_BYTES, Identity
from motet.transport.call import Call, Reply
from motet.transport.client_stream import ClientStream, SharedStream
from motet.transport.dial import Dialler
from motet.transport.endpoint import Endpoint
from motet.transport.framing import (
    Buffer,
    Header,
    ProtocolError,
    byte_view,
    check_limits,
)
from motet.transport.leadership import Leadership
from motet.transport.patience import Patience
from motet.transport.shared_memory import Arena
from motet.transport.sockets import DeadlinePassed, hang_up
from motet.transport.stream import BUFFER_BYTES, Frame

RETRY_FOR_S = 10.0
_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.5
_FIRST_ATTEMPTS = 3
_LARGE_READ_AHEAD = 1 << 12


class Connection:
    """A client's connection to one server, over shared memory or TCP. Safe for several threads.

    `client_id`: the name that the server sees (a random one by default). `arena`: the process's
    shared memory, for payloads between processes of one host; without one the connection makes its
    own. `shared_memory=False` always uses TCP. `retry_for_s`: how long to try to connect again
    after the connection breaks. Raises Unreachable if nobody answers now, AuthenticationFailed.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        secret: bytes,
        *,
        client_id: str | None = None,
        arena: Arena | None = None,
        shared_memory: bool = True,
        retry_for_s: float = RETRY_FOR_S,
    ) -> None:
        self._endpoint = endpoint
        self._owns_arena = arena is None
        self._arena = Arena() if arena is None else arena
        self._retry_for_s = retry_for_s
        self._dialler = Dialler(
            endpoint,
            secret,
            Identity(_client_id(client_id), os.urandom(LINK_BYTES)),
            shared_memory and endpoint.is_here,
        )
        self._send_lock = threading.Lock()
        self._leadership = Leadership()
        self._patience = Patience()
        self._outstanding: dict[int, Call] = {}
        self._operations = itertools.count(1)
        self._broken_since_s: float | None = None
        self._closing = threading.Event()
        self._retired: list[ClientStream] = []
        self._end: MotetError | None = None
        self._stream = self._first_stream()

    @property
    def endpoint(self) -> Endpoint:
        """The server at the other end."""
        return self._endpoint

    @property
    def client_id(self) -> str:
        """The name that the server sees."""
        return self._dialler.identity.client_id

    @property
    def is_local(self) -> bool:
        """Whether requests go over the same-host shortcut now."""
        return self._stream.is_local

    @property
    def outstanding_count(self) -> int:
        """Requests without a reply so far."""
        return len(self._outstanding)

    def submit(
        self,
        kind: int,
        meta: bytes | memoryview = b"",
        buffers: Sequence[Buffer] = (),
        into: Sequence[Buffer] | None = None,
    ) -> Call:
        """Send a request; `wait` on what is returned for its reply.

        `buffers` (contiguous) are sent in order as one payload. `into`: where the reply's payload
        goes, in order, sizes adding up to it. Both belong to the call until it is done.
        Raises ConnectionLost, ValueError.
        """
        views = [byte_view(buffer) for buffer in buffers]
        targets = None if into is None else [_writable(buffer) for buffer in into]
        call = Call(self, kind, meta, views, targets)
        check_limits(kind, len(meta), call.payload_bytes)
        operation = next(self._operations)
        with self._send_lock:
            if self._end is not None:
                raise self._end
            self._outstanding[operation] = call
            self._send(operation, call)
        return call

    def request(
        self,
        kind: int,
        meta: bytes | memoryview = b"",
        buffers: Sequence[Buffer] = (),
        into: Sequence[Buffer] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Submit and wait."""
        return self.submit(kind, meta, buffers, into).wait(timeout_s)

    def close(self) -> None:
        """Break the connection; calls that are under way raise ConnectionLost."""
        self._closing.set()
        hang_up(self._stream.sock)
        with self._send_lock:
            self._finish(self._lost(None))
        self._leadership.lead()
        self._discard_retired()
        self._leadership.step_down()
        if self._owns_arena:
            self._arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- waiting ---------------------------------------------------------------------------------

    def await_call(self, call: Call, timeout_s: float | None) -> None:
        """Return once the call is done. Raises TimeoutError."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._leadership.lead_unless(call, deadline_s):
            return
        try:
            while not call.is_done:
                self._read_one(call, deadline_s)
        except DeadlinePassed:
            raise TimeoutError(f"no reply from {self._endpoint} within {timeout_s} s") from None
        finally:
            self._discard_retired()
            self._leadership.step_down()

    def _read_one(self, call: Call, deadline_s: float | None) -> None:
        """Take one reply in, whosoever it is; connect again if the connection broke."""
        stream = self._stream
        stream.source.deadline_s = deadline_s
        try:
            frame = stream.reader.read(
                BUFFER_BYTES if call.into_bytes <= BUFFER_BYTES else _LARGE_READ_AHEAD
            )
        except DeadlinePassed:
            raise
        except (OSError, ProtocolError) as error:
            self._recover(stream, error, deadline_s)
        except BaseException:  # an interrupt in mid-frame: the stream cannot be trusted any more
            hang_up(stream.sock)
            raise
        else:
            self._take(frame, call)

    def _take(self, frame: Frame, awaited: Call) -> None:
        call = self._outstanding.pop(frame.header.operation, None)
        if call is None:
            return
        call.finish(frame)
        if call is not awaited:
            self._leadership.announce()

    def _place(self, header: Header, references: bytes, meta: bytes) -> Sequence[memoryview]:
        """Where a reply's payload goes; one that nobody waits for any more goes nowhere."""
        del references, meta
        call = self._outstanding.get(header.operation)
        if call is None:
            return [memoryview(bytearray(header.payload_bytes))]
        return call.place(header.payload_bytes)

    # -- sending and connecting ------------------------------------------------------------------

    def _send(self, operation: int, call: Call) -> None:
        """Send a request, or everything unanswered if the connection broke. Holds the send lock."""
        stream = self._stream
        try:
            stream.send(operation, call)
        except OSError as error:
            hang_up(stream.sock)
            self._reconnect(error, None)
        except BaseException:  # an interrupt in mid-frame
            hang_up(stream.sock)
            raise

    def _recover(self, stream: ClientStream, error: Exception, deadline_s: float | None) -> None:
        """Connect again unless another thread did already."""
        hang_up(stream.sock)
        with self._send_lock:
            if self._stream is stream and self._end is None:
                self._reconnect(error, deadline_s)

    def _reconnect(self, error: Exception, deadline_s: float | None) -> None:
        """Connect and send everything unanswered again; ends the connection if that takes too long.

        Holds the send lock. Raises DeadlinePassed, and ConnectionLost if the connection ended.
        """
        now_s = time.monotonic()
        if self._broken_since_s is None:
            self._broken_since_s = now_s
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
        self._finish(self._lost(error))
        self._check_open()

    def _replace_stream(self) -> None:
        stream = self._open_stream()
        self._retired.append(self._stream)
        self._stream = stream
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
                    f"nobody answers at {self._endpoint}: {error}; does the server still run?"
                ) from error
        raise AssertionError("unreachable")

    def _open_stream(self) -> ClientStream:
        sock = self._dialler.dial()
        if sock.family == socket.AF_UNIX:
            return SharedStream(sock, self._place, self._patience, self._arena)
        return ClientStream(sock, self._place, self._patience)

    def _discard_retired(self) -> None:
        """Close sockets that were replaced. Only the leader may: nobody else reads them."""
        while self._retired:
            self._retired.pop().sock.close()

    def _finish(self, error: MotetError) -> None:
        """End for good: every outstanding and later call raises `error`. Holds the send lock."""
        if self._end is None:
            self._end = error
            self._retired.append(self._stream)
            hang_up(self._stream.sock)
        while self._outstanding:
            _, call = self._outstanding.popitem()
            call.fail(self._end)
        self._leadership.announce()

    def _check_open(self) -> None:
        if self._end is not None:
            raise self._end

    def _lost(self, error: Exception | None) -> ConnectionLost:
        if self._closing.is_set():
            return ConnectionLost(f"the connection to {self._endpoint} was closed here")
        tried = f" and could not be made again within {self._retry_for_s:g} s"
        ending = tried if self._retry_for_s else ""
        return ConnectionLost(f"the connection to {self._endpoint} broke ({error}){ending}")


def _client_id(name: str | None) -> str:
    name = os.urandom(8).hex() if name is None else name
    if len(name.encode()) > MAX_CLIENT_ID_BYTES:
        raise ValueError(f"client_id {name!r} is longer than {MAX_CLIENT_ID_BYTES} bytes")
    return name


def _writable(buffer: Buffer) -> memoryview:
    view = byte_view(buffer)
    if view.readonly and view.nbytes:
        raise ValueError("a destination is read-only")
    return view
