"""Making an authenticated connection to a server, by the shortest way there is."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

from motet.domain.errors import AuthenticationFailed
from motet.transport.authentication import Identity, prove_client
from motet.transport.backends.socket_channel import tune
from motet.transport.endpoint import Endpoint

ATTEMPT_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Dialler:
    """How to reach one server. `is_local`: whether to try its unix socket first."""

    endpoint: Endpoint
    secret: bytes
    identity: Identity
    is_local: bool

    def dial(self, timeout_s: float = ATTEMPT_TIMEOUT_S) -> socket.socket:
        """An authenticated socket. Raises OSError or AuthenticationFailed."""
        deadline_s = time.monotonic() + timeout_s
        sock = self._connect(timeout_s)
        try:
            prove_client(sock, self.secret, self.identity, deadline_s)
            tune(sock)
        except AuthenticationFailed as error:
            sock.close()
            raise AuthenticationFailed(f"{self.endpoint}: {error}") from None
        except BaseException:
            sock.close()
            raise
        return sock

    def _connect(self, timeout_s: float) -> socket.socket:
        if self.is_local:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.settimeout(timeout_s)
                sock.connect(f"\0{self.endpoint.unix_name}")
            except OSError:
                sock.close()
            else:
                return sock
        return socket.create_connection((self.endpoint.host, self.endpoint.port), timeout_s)
