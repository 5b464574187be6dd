"""An Aggregator's connections to others, each with a thread that waits for its answers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from motet.aggregation.wire.client_names import pool_member_name
from motet.aggregation.wire.peer_requests import PeerMessage
from motet.domain.errors import MotetError
from motet.runtime.wire.codec import encode
from motet.transport import Arena, Buffer, Call, Connection, Endpoint, Reply

WhenDone = Callable[["MotetError | None"], None]


@dataclass(eq=False)
class _Peer:
    """A connection and the calls whose answers its thread waits for: a peer that is silent delays
    none of the others.
    """

    connection: Connection
    sent: queue.SimpleQueue[tuple[Call, WhenDone] | None] = field(default_factory=queue.SimpleQueue)

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self._await, name="motet-peer", daemon=True)
        thread.start()
        return thread

    def _await(self) -> None:
        while (found := self.sent.get()) is not None:
            call, when_done = found
            try:
                call.wait()
            except MotetError as error:
                when_done(error)
            else:
                when_done(None)


class PeerConnections:
    """Connections by encoded endpoint, made on first use. Thread-safe."""

    def __init__(self, pool_secret: bytes) -> None:
        self.arena = Arena()
        self._pool_secret = pool_secret
        self._lock = threading.Lock()
        self._known: dict[str, _Peer] = {}
        self._threads: list[threading.Thread] = []

    def ask(
        self,
        peer: str,
        message: PeerMessage,
        buffers: Sequence[Buffer] = (),
        timeout_s: float | None = None,
    ) -> Reply:
        """Send and wait. Raises Unreachable, TimeoutError, or the peer's error."""
        try:
            return self._submit(peer, message, buffers)[0].wait(timeout_s)
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
            call, sent = self._submit(peer, message, buffers)
        except MotetError as error:
            self._drop_if_broken(peer)
            when_done(error)
            return
        sent.put((call, when_done))

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
            each.connection.close()
            each.sent.put(None)
        for thread in self._threads:
            thread.join()

    def _submit(
        self, peer: str, message: PeerMessage, buffers: Sequence[Buffer]
    ) -> tuple[Call, queue.SimpleQueue[tuple[Call, WhenDone] | None]]:
        with self._lock:
            if peer not in self._known:
                self._known[peer] = _Peer(self._connect(peer))
                self._threads = [each for each in self._threads if each.is_alive()]
                self._threads.append(self._known[peer].start())
            found = self._known[peer]
        return found.connection.submit(message.kind, encode(message)[0], buffers), found.sent

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
            found = self._known.get(peer)
            if found is None or found.connection.outstanding_count:
                return
            del self._known[peer]
        found.connection.close()
        found.sent.put(None)
