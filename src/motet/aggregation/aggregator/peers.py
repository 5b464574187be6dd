"""An Aggregator's connections to others, each with a thread that waits for its answers."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial

from motet.aggregation.wire.client_names import pool_member_name
from motet.aggregation.wire.peer_requests import PeerMessage
from motet.domain.errors import MotetError, Unreachable
from motet.runtime.wire.codec import encode
from motet.transport import Arena, Buffer, Call, Connection, Endpoint, Reply

_LOG = logging.getLogger(__name__)
_KEPT_BYTES = 256 << 20
"""Memory of means up to this size stays resident when it is unused, as much in all."""

WhenDone = Callable[["MotetError | None"], None]


class Peer:
    """A connection and the calls whose answers its thread waits for: a peer that is silent delays
    none of the others. Thread-safe.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        """`connect` is called by the first request, and by the next if it raises."""
        self._connect = connect
        self._connection: Connection | None = None
        self._connecting = threading.Lock()
        self._sent: queue.SimpleQueue[tuple[Call, WhenDone] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._has_ended = False
        self._thread = threading.Thread(target=self._await, name="motet-peer", daemon=True)
        self._thread.start()

    @property
    def connection(self) -> Connection:
        """Raises Unreachable, AuthenticationFailed."""
        with self._connecting:
            if self._connection is None:
                connection = self._connect()
                with self._lock:
                    if self._has_ended:
                        connection.close()
                        raise Unreachable("the connection to this Aggregator was given up")
                    self._connection = connection
            return self._connection

    @property
    def is_idle(self) -> bool:
        """Whether no answer is outstanding."""
        return self._connection is None or not self._connection.outstanding_count

    def when_answered(self, call: Call, when_done: WhenDone) -> None:
        """`when_done` on the thread; or here, if the peer was given up meanwhile."""
        with self._lock:
            if not self._has_ended:
                self._sent.put((call, when_done))
                return
        _conclude(call, when_done)

    def end(self) -> None:
        """Disconnect; whatever is outstanding is answered with an error."""
        with self._lock:
            self._has_ended = True
            self._sent.put(None)
        if self._connection is not None:
            self._connection.close()

    def join(self) -> None:
        """Wait for the thread of an ended peer."""
        self._thread.join()

    def _await(self) -> None:
        while (found := self._sent.get()) is not None:
            _conclude(*found)


def _conclude(call: Call, when_done: WhenDone) -> None:
    """Wait for an answer."""
    failure: MotetError | None = None
    try:
        call.wait()
    except MotetError as error:
        failure = error
    try:
        when_done(failure)
    except Exception:  # Of one job: the others still wait for their answers.
        _LOG.exception("what follows an answer of a peer failed")


class PeerConnections:
    """Connections by encoded endpoint, made on first use. Thread-safe."""

    def __init__(self, pool_secret: bytes) -> None:
        # The means of each step: to get the pages anew takes longer than the copies.
        self.arena = Arena(large_bytes=_KEPT_BYTES)
        self._pool_secret = pool_secret
        self._lock = threading.Lock()
        self._known: dict[str, Peer] = {}

    def ask(
        self,
        peer: str,
        message: PeerMessage,
        buffers: Sequence[Buffer] = (),
        timeout_s: float | None = None,
    ) -> Reply:
        """Send and wait. Raises Unreachable, TimeoutError, or the peer's error."""
        found = self._peer(peer)
        try:
            return _submit(found, message, buffers).wait(timeout_s)
        except MotetError:
            self._drop_if_idle(peer, found)
            raise

    def send(
        self, peer: str, message: PeerMessage, buffers: Sequence[Buffer], when_done: WhenDone
    ) -> None:
        """Send; `when_done` is called on another thread, or here if that fails at once.

        The buffers are free once this returns.
        """
        found = self._peer(peer)
        try:
            call = _submit(found, message, buffers)
        except MotetError as error:
            self._drop_if_idle(peer, found)
            when_done(error)
        else:
            found.when_answered(call, when_done)

    def watch(self, peer: str, message: PeerMessage) -> None:
        """Wait on a connection of its own. Raises Unreachable once the peer has died."""
        connection = self._connect(peer)
        try:
            connection.request(message.kind, encode(message)[0])
        finally:
            connection.close()

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            known = list(self._known.values())
            self._known.clear()
        for each in known:
            each.end()
        for each in known:
            each.join()

    def _peer(self, peer: str) -> Peer:
        with self._lock:
            if peer not in self._known:
                self._known[peer] = Peer(partial(self._connect, peer))
            return self._known[peer]

    def _connect(self, peer: str) -> Connection:
        return Connection(
            Endpoint.decode(peer),
            self._pool_secret,
            client_id=pool_member_name(),
            arena=self.arena,
            retry_for_s=0.0,
        )

    def _drop_if_idle(self, peer: str, found: Peer) -> None:
        """After an error: the next request connects anew."""
        with self._lock:
            if self._known.get(peer) is not found or not found.is_idle:
                return
            del self._known[peer]
        found.end()


def _submit(peer: Peer, message: PeerMessage, buffers: Sequence[Buffer]) -> Call:
    return peer.connection.submit(message.kind, encode(message)[0], buffers)
