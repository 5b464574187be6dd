"""The server's API: one thread per connection reads requests and runs the handler on them.

A handler replies at once, or keeps the request and replies later from any thread; the connection
reads further requests in the meantime. The client raises what the handler raises.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from motet.domain.errors import AuthenticationFailed
from motet.transport.authentication import SecretOf, accept_client, verify_client
from motet.transport.backends.selection import listeners_at
from motet.transport.backends.shared_link import SharedLink
from motet.transport.channel import Listener, ServerChannel
from motet.transport.endpoint import Endpoint
from motet.transport.sealed_channel import SealedChannel
from motet.transport.server.batch_handler import NewBatchHandler
from motet.transport.server.buffer_pool import BufferPool
from motet.transport.server.request import Handler
from motet.transport.server.server_connection import ServerConnection

_LOG = logging.getLogger(__name__)
HANDSHAKE_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 10.0
MAX_UNAUTHENTICATED = 64
_ACCEPT_PAUSE_S = 0.05


class Server:
    """Serves `handler` on all backends: a TCP port, and shared memory for clients on this host.

    `handler(request)` runs on the connection's thread. It must not block for long: it delays
    later requests of the same connection, and only those. `host` is the address that clients use;
    port 0 selects a free one. `listeners`: other ways to reach this server, instead of the built-in
    backends. `link`: of this machine, if several jobs share it; replies travel in the lanes of
    their requests. `payload_limit`: the largest payload, in bytes, that the client with a name may
    send; a larger one ends its connection before it takes memory. `batches`: answers plain requests
    instead of `handler`.
    Raises BadInput if the address is not available.
    """

    def __init__(
        self,
        handler: Handler,
        secret: SecretOf,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        listeners: Sequence[Listener] | None = None,
        link: SharedLink | None = None,
        payload_limit: Callable[[str], int] | None = None,
        batches: NewBatchHandler | None = None,
    ) -> None:
        self._handler = handler
        self._payload_limit = payload_limit
        self._batches = batches
        self._secret = secret
        self._pool = BufferPool()
        self._lock = threading.Lock()
        self._connections: dict[bytes, ServerConnection] = {}
        self._unauthenticated: dict[ServerChannel, threading.Thread] = {}
        self._closing = threading.Event()
        found = listeners_at(host, port, link) if listeners is None else listeners
        self._listeners = list(found)
        self._endpoint = Endpoint(host, port)
        for listener in self._listeners:
            self._endpoint = listener.announce(self._endpoint)
        self._acceptors = [self._start_acceptor(listener) for listener in self._listeners]

    @property
    def endpoint(self) -> Endpoint:
        """The address for clients."""
        return self._endpoint

    def close(self) -> None:
        """Close all connections and end all threads. Clients get no reply to pending requests."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
        self._end_acceptors()
        with self._lock:
            unauthenticated = dict(self._unauthenticated)
            connections = list(self._connections.values())
        for channel in unauthenticated:
            channel.shutdown()
        for connection in connections:
            if not connection.end(CLOSE_TIMEOUT_S):
                _LOG.warning(
                    "a handler for client %s did not return within %g s; its thread goes on",
                    connection.client_id,
                    CLOSE_TIMEOUT_S,
                )
        for thread in unauthenticated.values():
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start_acceptor(self, listener: Listener) -> threading.Thread:
        name = f"motet-accept-{self._endpoint.port}"
        acceptor = threading.Thread(target=self._accept, args=(listener,), name=name, daemon=True)
        acceptor.start()
        return acceptor

    def _end_acceptors(self) -> None:
        for listener in self._listeners:
            listener.shutdown()
        for acceptor in self._acceptors:
            acceptor.join()
        for listener in self._listeners:
            listener.close()

    def _accept(self, listener: Listener) -> None:
        while not self._closing.is_set():
            try:
                channel = listener.accept()
            except OSError:
                self._closing.wait(_ACCEPT_PAUSE_S)  # out of descriptors: the client still waits
                continue
            if channel is None:
                return
            self._start_connection(channel)

    def _start_connection(self, channel: ServerChannel) -> None:
        thread = threading.Thread(target=self._serve, args=(channel,), daemon=True)
        with self._lock:
            if len(self._unauthenticated) >= MAX_UNAUTHENTICATED:
                oldest = next(iter(self._unauthenticated))  # clients with the secret are fast
                oldest.shutdown()
            self._unauthenticated[channel] = thread
        thread.start()

    def _serve(self, channel: ServerChannel) -> None:
        """Authenticate and serve one connection, on its own thread."""
        try:
            connection = self._authenticate(channel)
        except AuthenticationFailed as error:
            _LOG.warning("%s refused a connection: %s", self._endpoint, error)
            connection = None
        except OSError:
            connection = None
        if connection is None:
            with self._lock:
                self._unauthenticated.pop(channel, None)
            channel.close()
            return
        connection.serve()
        with self._lock:
            if self._connections.get(connection.session) is connection:
                del self._connections[connection.session]

    def _authenticate(self, channel: ServerChannel) -> ServerConnection | None:
        """Return the connection to serve, after the session's previous one has ended."""
        deadline_s = time.monotonic() + HANDSHAKE_TIMEOUT_S
        identity, keys = verify_client(channel, self._secret, deadline_s)
        with self._lock:
            previous = self._connections.get(identity.session)
        if previous is not None and not previous.end(HANDSHAKE_TIMEOUT_S):
            return None
        sealed = channel if keys is None else SealedChannel(channel, keys, is_server=True)
        connection = ServerConnection(
            sealed, identity, self._handler, self._pool, self._payload_limit, self._batches
        )
        with self._lock:
            if self._closing.is_set():
                return None
            self._connections[identity.session] = connection
            self._unauthenticated.pop(channel, None)
        accept_client(channel)
        return connection
