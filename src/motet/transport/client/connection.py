"""The calling end: many requests may be under way, and whoever waits reads the socket.

There is no receiving thread: handing a reply from one thread to another takes longer than the
whole request. The first thread that waits leads: it reads replies, its own and those of others,
until its own is there; then the next waiting thread leads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from motet.transport.authentication import LINK_BYTES, MAX_CLIENT_ID_BYTES, Identity
from motet.transport.backends.shared_memory import Arena
from motet.transport.backends.socket_channel import DeadlinePassed, hang_up
from motet.transport.client.call import Call, Reply
from motet.transport.client.dialler import Dialler
from motet.transport.client.reader_election import Leadership
from motet.transport.client.session import Link
from motet.transport.endpoint import Endpoint
from motet.transport.frame_reader import BUFFER_BYTES
from motet.transport.framing import Buffer, ProtocolError, byte_view, check_limits

RETRY_FOR_S = 10.0
_LARGE_READ_AHEAD = 1 << 12


class Connection:
    """A client's connection to one server, over shared memory or TCP. Safe for several threads.

    `client_id`: the name that the server sees (a random one by default). `arena`: the process's
    shared memory, for payloads between processes of one host; without one the connection makes its
    own. `shared_memory=False` always uses TCP. `retry_for_s`: how long to try to connect again
    after the connection breaks; requests may then arrive twice (see `client.session`).
    Raises Unreachable if nobody answers now, AuthenticationFailed.
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
        identity = Identity(_client_id(client_id), os.urandom(LINK_BYTES))
        is_local = shared_memory and endpoint.is_here
        self._endpoint = endpoint
        self._client_id = identity.client_id
        self._arena = Arena() if arena is None else arena
        self._owns_arena = arena is None
        self._leadership = Leadership()
        self._link = Link(
            Dialler(endpoint, secret, identity, is_local),
            self._arena,
            retry_for_s,
            self._leadership.announce,
        )

    @property
    def endpoint(self) -> Endpoint:
        """The server at the other end."""
        return self._endpoint

    @property
    def client_id(self) -> str:
        """The name that the server sees."""
        return self._client_id

    @property
    def is_local(self) -> bool:
        """Whether requests go over the same-host shortcut now."""
        return self._link.stream.is_local

    @property
    def is_searching(self) -> bool:
        """Whether the connection broke and was not made again yet."""
        return self._link.is_searching

    @property
    def outstanding_count(self) -> int:
        """Requests without a reply so far."""
        return self._link.outstanding_count

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
        self._link.send(call)
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
        self._link.close()
        self._leadership.lead()
        self._link.discard_retired()
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

    def await_call(self, call: Call, timeout_s: float | None) -> None:
        """Return once the call is done (see `Call.wait`). Raises TimeoutError."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._leadership.lead_unless(call, deadline_s):
            return
        try:
            while not call.is_done:
                self._read_one(call, deadline_s)
        except DeadlinePassed:
            raise TimeoutError(f"no reply from {self._endpoint} within {timeout_s} s") from None
        finally:
            self._link.discard_retired()
            self._leadership.step_down()

    def _read_one(self, awaited: Call, deadline_s: float | None) -> None:
        """Take one reply in, whosoever it is; connect again if the connection broke."""
        stream = self._link.stream
        stream.source.deadline_s = deadline_s
        is_large = awaited.into_bytes > BUFFER_BYTES
        try:
            frame = stream.reader.read(_LARGE_READ_AHEAD if is_large else BUFFER_BYTES)
        except DeadlinePassed:
            raise
        except (OSError, ProtocolError) as error:
            self._link.recover(stream, error, deadline_s)
            return
        except BaseException:  # an interrupt in mid-frame: the stream cannot be trusted any more
            hang_up(stream.sock)
            raise
        call = self._link.take(frame.header.operation)
        if call is None:
            return
        call.finish(frame)
        if call is not awaited:
            self._leadership.announce()


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
