"""An Aggregator's connections to others, and the thread that waits for their answers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

from motet.aggregation.wire.client_names import pool_member_name
from motet.aggregation.wire.peer_requests import PeerMessage
from motet.domain.errors import MotetError
from motet.runtime.wire.codec import encode
from motet.transport import Arena, Buffer, Call, Connection, Endpoint, Reply

WhenDone = Callable[["MotetError | None"], None]


class PeerConnections:
    """Connections by encoded endpoint, made on first use. Thread-safe."""

    def __init__(self, pool_secret: bytes) -> None:
        self.arena = Arena()
        self._pool_secret = pool_secret
        self._lock = threading.Lock()
        self._connections: dict[str, Connection] = {}
        self._sent: queue.SimpleQueue[tuple[Call, WhenDone] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._await, name="motet-peers", daemon=True)
        self._thread.start()

    def ask(
        self,
        peer: str,
        message: PeerMessage,
        buffers: Sequence[Buffer] = (),
        timeout_s: float | None = None,
    ) -> Reply:
        """Send and wait. Raises Unreachable, TimeoutError, or the peer's error."""
        try:
            return self._submit(peer, message, buffers).wait(timeout_s)
        except MotetError:
            self._drop_if_broken(peer)
            raise

    def send(
        self, peer: str, message: PeerMessage, buffers: Sequence[Buffer], when_done: WhenDone
    ) -> None:
        """Send; `when_done` is called on another thread, or here if that fails at once.

        The buffers are free once this returns.
        """
        try:
            call = self._submit(peer, message, buffers)
        except MotetError as error:
            self._drop_if_broken(peer)
            when_done(error)
            return
        self._sent.put((call, when_done))

    def watch(self, peer: str, message: PeerMessage) -> None:
        """Wait on a connection of its own. Raises Unreachable once the peer has died."""
        connection = self._connect(peer)
        try:
            connection.request(message.kind, encode(message)[0])
        finally:
            connection.close()

    def close(self) -> None:
        """Disconnect."""
        self._sent.put(None)
        with self._lock:
            connections = list(self._connections.values())
            self._connections.clear()
        for connection in connections:
            connection.close()
        self._thread.join()

    def _submit(self, peer: str, message: PeerMessage, buffers: Sequence[Buffer]) -> Call:
        with self._lock:
            if peer not in self._connections:
                self._connections[peer] = self._connect(peer)
            connection = self._connections[peer]
        return connection.submit(message.kind, encode(message)[0], buffers)

    def _connect(self, peer: str) -> Connection:
        return Connection(
            Endpoint.decode(peer),
            self._pool_secret,
            client_id=pool_member_name(),
            arena=self.arena,
            retry_for_s=0.0,
        )

    def _drop_if_broken(self, peer: str) -> None:
        with self._lock:
            connection = self._connections.get(peer)
            if connection is None or connection.outstanding_count:
                return
            del self._connections[peer]
        connection.close()

    def _await(self) -> None:
        while (found := self._sent.get()) is not None:
            call, when_done = found
            try:
                call.wait()
            except MotetError as error:
                when_done(error)
            else:
                when_done(None)
