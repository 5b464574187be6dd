"""Whether something listens at an address."""

from __future__ import annotations

import socket

_TIMEOUT_S = 2.0


def listens(host: str, port: int) -> bool:
    """Whether a connection is accepted within two seconds."""
    try:
        socket.create_connection((host, port), _TIMEOUT_S).close()
    except OSError:
        return False
    return True
