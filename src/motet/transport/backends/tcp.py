"""The TCP backend: reaches every host; payloads travel inline."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import replace

from motet.domain.errors import BadInput
from motet.transport.backends.shared_link import SharedLink
from motet.transport.backends.socket_channel import SocketChannel, SocketListener
from motet.transport.backends.spin_policy import SpinPolicy
from motet.transport.endpoint import Endpoint

BACKLOG = 128
_KEEPALIVE_IDLE_S = 5
_KEEPALIVE_INTERVAL_S = 2
_KEEPALIVE_PROBES = 3
_SILENCE_MS = 15_000


class TcpConnector:
    """Connects to a host and port. Its connections share one spin policy."""

    def __init__(self, host: str, port: int, link: SharedLink | None = None) -> None:
        """`link`: of this machine, if several jobs share it."""
        self._address = (host, port)
        self._link = link
        self._spin_policy = SpinPolicy()

    def connect(self, timeout_s: float) -> SocketChannel:
        """See Connector."""
        sock = socket.create_connection(self._address, timeout_s)
        _configure(sock)
        return _channel(sock, self._spin_policy, self._link)


class TcpListener(SocketListener):
    """Listens on a host's address; port 0 selects a free one.

    `link`: of this machine, if several jobs share it. Raises BadInput if the address is not
    available.
    """

    def __init__(self, host: str, port: int, link: SharedLink | None = None) -> None:
        self._link = link
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            sock = socket.create_server((host, port), family=family, backlog=BACKLOG)
        except OSError as error:
            raise BadInput(f"cannot listen on {host}:{port}: {error.strerror}") from error
        super().__init__(sock)
        self._host = host
        self._port: int = sock.getsockname()[1]

    def announce(self, endpoint: Endpoint) -> Endpoint:
        """See Listener."""
        return replace(endpoint, host=self._host, port=self._port)

    def accept(self) -> SocketChannel | None:
        """See Listener."""
        sock = self.accept_socket()
        if sock is None:
            return None
        _configure(sock)
        return _channel(sock, SpinPolicy(), self._link)


def _channel(sock: socket.socket, policy: SpinPolicy, link: SharedLink | None) -> SocketChannel:
    is_exposed = _leaves_host(sock)
    return SocketChannel(sock, policy, is_exposed=is_exposed, link=link if is_exposed else None)


def _configure(sock: socket.socket) -> None:
    """Disable Nagle's algorithm; detect a dead peer within 15 seconds."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_INTERVAL_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_PROBES)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _SILENCE_MS)


def _leaves_host(sock: socket.socket) -> bool:
    """Whether the peer is reached by another address than a loopback one."""
    host = str(sock.getpeername()[0]).partition("%")[0]
    address = ipaddress.ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return not (mapped or address).is_loopback
