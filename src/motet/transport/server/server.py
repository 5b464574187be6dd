"""The serving end: one thread per connection reads requests and calls the handler on it.

A handler may answer at once, or keep the request and answer later from any thread; the connection
goes on reading meanwhile. An exception in a handler becomes an error that the client raises.
"""

from __future__ import annotations

import logging
import os
import secrets
import selectors
import socket
import threading
import time
from types import TracebackType
from typing import Self

from motet.domain.errors import AuthenticationFailed, BadInput
from motet.transport.authentication import verify_client, welcome
from motet.transport.backends.socket_channel import hang_up
from motet.transport.endpoint import Endpoint, host_identity
from motet.transport.server.buffer_pool import BufferPool
from motet.transport.server.server_connection import Handler, ServerConnection

_LOG = logging.getLogger(__name__)
HANDSHAKE_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 10.0
MAX_STRANGERS = 64
_BACKLOG = 128
_ACCEPT_PAUSE_S = 0.05


class Server:
    """Serves `handler` at a TCP port and at a unix socket for clients on the same host.

    `handler(request)` runs on the connection's thread and must not block for long: it holds back
    the requests behind it (and nobody else's). `host` is the address that clients use; port 0 lets
    the system choose. Raises BadInput if the address cannot be taken.
    """

    def __init__(
        self, handler: Handler, secret: bytes, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._handler = handler
        self._secret = secret
        self._pool = BufferPool()
        self._lock = threading.Lock()
        self._connections: dict[bytes, ServerConnection] = {}
        self._strangers: dict[socket.socket, threading.Thread] = {}
        self._is_closed = False
        self._listeners = [_listen_tcp(host, port), _listen_unix()]
        self._wake = os.eventfd(0, os.EFD_CLOEXEC)
        self._endpoint = _endpoint(host, self._listeners)
        name = f"motet-accept-{self._endpoint.port}"
        self._acceptor = threading.Thread(target=self._accept, name=name, daemon=True)
        self._acceptor.start()

    @property
    def endpoint(self) -> Endpoint:
        """Where clients find this server."""
        return self._endpoint

    def close(self) -> None:
        """Drop all connections and end all threads. Unanswered requests stay unanswered."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        os.eventfd_write(self._wake, 1)
        self._acceptor.join()
        with self._lock:
            strangers = dict(self._strangers)
            connections = list(self._connections.values())
        for sock in strangers:
            hang_up(sock)
        for connection in connections:
            if not connection.end(CLOSE_TIMEOUT_S):
                _LOG.warning("a handler of %s does not return; left behind", connection.client_id)
        for thread in strangers.values():
            thread.join()
        for listener in self._listeners:
            listener.close()
        os.close(self._wake)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            for listener in self._listeners:
                selector.register(listener, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while not self._is_closed:
                for key, _ in selector.select():
                    if isinstance(key.fileobj, socket.socket):
                        self._welcome_one(key.fileobj)

    def _welcome_one(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except OSError:
            time.sleep(_ACCEPT_PAUSE_S)  # out of descriptors: the caller is still waiting
            return
        thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
        with self._lock:
            if len(self._strangers) >= MAX_STRANGERS:
                hang_up(next(iter(self._strangers)))  # the oldest: honest clients are quick
            self._strangers[sock] = thread
        thread.start()

    def _serve(self, sock: socket.socket) -> None:
        """The life of one connection, on its own thread."""
        try:
            connection = self._authenticate(sock)
        except AuthenticationFailed as error:
            _LOG.warning("%s refused a connection: %s", self._endpoint, error)
            connection = None
        except OSError:
            connection = None
        if connection is None:
            with self._lock:
                self._strangers.pop(sock, None)
            sock.close()
            return
        connection.serve()
        with self._lock:
            if self._connections.get(connection.link) is connection:
                del self._connections[connection.link]

    def _authenticate(self, sock: socket.socket) -> ServerConnection | None:
        """A connection that may be served, once the link's previous one has ended."""
        deadline_s = time.monotonic() + HANDSHAKE_TIMEOUT_S
        identity = verify_client(sock, self._secret, deadline_s)
        with self._lock:
            previous = self._connections.get(identity.link)
        if previous is not None and not previous.end(HANDSHAKE_TIMEOUT_S):
            return None
        connection = ServerConnection(sock, identity, self._handler, self._pool)
        with self._lock:
            if self._is_closed:
                return None
            self._connections[identity.link] = connection
            self._strangers.pop(sock, None)
        welcome(sock)
        return connection


def _listen_tcp(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise BadInput(f"cannot listen on {host}:{port}: {error.strerror}") from error


def _listen_unix() -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"\0motet-{secrets.token_hex(16)}")
    listener.listen(_BACKLOG)
    return listener


def _endpoint(host: str, listeners: list[socket.socket]) -> Endpoint:
    tcp, unix = listeners
    name = unix.getsockname().decode().removeprefix("\0")
    return Endpoint(host, tcp.getsockname()[1], name, host_identity())
