"""The client's API: many requests in flight, and one waiting thread reads the replies.

There is no receiver thread: passing a reply from one thread to another takes longer than a whole
small request. The first thread that waits is elected reader: it reads replies, its own and those of
other threads, until its own has arrived; then another waiting thread is elected.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from motet.transport.authentication import MAX_CLIENT_ID_BYTES, SESSION_BYTES, Identity
from motet.transport.backends.arena import Arena
from motet.transport.backends.selection import connectors_to
from motet.transport.backends.shared_link import LinkUse
from motet.transport.channel import Connector, DeadlinePassed
from motet.transport.client.burst import Burst, BurstRequest
from motet.transport.client.call import AwaitedCall, Call, Reply
from motet.transport.client.dialler import Dialler
from motet.transport.client.reader_election import ReaderElection
from motet.transport.client.session import Session
from motet.transport.endpoint import Endpoint
from motet.transport.frame_reader import BUFFER_BYTES
from motet.transport.framing import (
    Buffer,
    ProtocolError,
    byte_view,
    check_limits,
    writable_view,
)
from motet.transport.lanes import NO_LANE

RETRY_FOR_S = 10.0
_LARGE_READ_AHEAD = 1 << 12


class Connection:
    """A client's connection to one server. Thread-safe.

    `client_id`: the name that the server sees (a random one by default). `arena`: the process's
    shared memory for payloads between processes of one host; by default the connection creates its
    own. `shared_memory=False` disables the same-host backend. `retry_for_s`: how long to try to
    reconnect after the connection breaks; requests may then arrive twice (see `client.session`).
    `first_answer_s`: how long to wait for a server that accepts the first connection but is too
    busy to answer; 0: for one attempt. One that refuses it is not waited for.
    `connectors`: other ways to reach the server, the fastest first, instead of the built-in
    backends. `use`: of the machine's link, if several jobs share it; every request travels in the
    lane that it names. Raises Unreachable if no server answers now, AuthenticationFailed.
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
        first_answer_s: float = 0.0,
        connectors: Sequence[Connector] | None = None,
        use: LinkUse | None = None,
    ) -> None:
        identity = Identity(_client_id(client_id), os.urandom(SESSION_BYTES))
        self._endpoint = endpoint
        self._client_id = identity.client_id
        self._arena = Arena() if arena is None else arena
        self._owns_arena = arena is None
        if connectors is None:
            link = None if use is None else use.link
            connectors = connectors_to(
                endpoint, self._arena, shared_memory=shared_memory, link=link
            )
        self._lane = None if use is None else use.lane
        self._election = ReaderElection()
        dialler = Dialler(endpoint, secret, identity, connectors)
        self._session = Session(dialler, retry_for_s, self._election.notify, first_answer_s)

    @property
    def endpoint(self) -> Endpoint:
        """The server's address."""
        return self._endpoint

    @property
    def client_id(self) -> str:
        """The name that the server sees."""
        return self._client_id

    @property
    def is_local(self) -> bool:
        """Whether the current channel shares memory with the server."""
        return self._session.stream.is_local

    @property
    def is_reconnecting(self) -> bool:
        """Whether the connection broke and has not been re-established yet."""
        return self._session.is_reconnecting

    @property
    def has_ended(self) -> bool:
        """Whether it was closed, or broke and was not re-established: all requests fail."""
        return self._session.has_ended

    @property
    def outstanding_count(self) -> int:
        """Number of requests without a reply."""
        return self._session.outstanding_count

    def submit(
        self,
        kind: int,
        meta: bytes | memoryview = b"",
        buffers: Sequence[Buffer] = (),
        into: Sequence[Buffer] | None = None,
    ) -> Call:
        """See Requester. Raises ConnectionLost, ValueError."""
        views = [byte_view(buffer) for buffer in buffers] if buffers else []
        targets = None if into is None else [writable_view(buffer) for buffer in into]
        lane = NO_LANE if self._lane is None else self._lane()
        call = Call(self, kind, meta, views, targets, lane)
        check_limits(kind, len(meta), call.payload_bytes)
        self._session.send(call)
        return call

    def submit_burst(self, kind: int, requests: Sequence[BurstRequest]) -> Burst:
        """Send requests whose replies have no content, in their order and in no lane.

        They are as `submit` of each, in less time. Raises ConnectionLost: all of them fail.
        """
        for meta, view in requests:
            check_limits(kind, len(meta), len(view))
        burst = Burst(self, kind, requests)
        self._session.send_burst(burst)
        return burst

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
        """Break the connection; calls in flight raise ConnectionLost."""
        self._session.close()
        self._election.elect()
        self._session.close_retired()
        self._election.resign()
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

    def await_call(self, call: AwaitedCall, timeout_s: float | None) -> None:
        """Return once the call is done (see `Call.wait`). Raises TimeoutError."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._election.elect_unless_done(call, deadline_s):
            return
        try:
            while not call.is_done:
                self._read_one(call, deadline_s)
        except DeadlinePassed:
            raise TimeoutError(f"no reply from {self._endpoint} within {timeout_s} s") from None
        finally:
            self._session.close_retired()
            self._election.resign()

    def _read_one(self, awaited: AwaitedCall, deadline_s: float | None) -> None:
        """Read one reply, of any call; reconnect if the channel broke."""
        stream = self._session.stream
        stream.channel.deadline_s = deadline_s
        is_large = awaited.into_bytes > BUFFER_BYTES
        try:
            frame = stream.reader.read(_LARGE_READ_AHEAD if is_large else BUFFER_BYTES)
        except DeadlinePassed:
            raise
        except (OSError, ProtocolError) as error:
            self._session.recover(stream, error, deadline_s)
            return
        except BaseException:  # an interrupt in mid-frame leaves the stream in an unknown state
            stream.channel.shutdown()
            raise
        call = self._session.take(frame.header.operation)
        if call is None:
            return
        call.finish(frame)
        if call is not awaited:
            self._election.notify()


def _client_id(name: str | None) -> str:
    name = os.urandom(8).hex() if name is None else name
    if len(name.encode()) > MAX_CLIENT_ID_BYTES:
        raise ValueError(f"client_id {name!r} is longer than {MAX_CLIENT_ID_BYTES} bytes")
    return name
