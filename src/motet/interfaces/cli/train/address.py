"""`--address`: checked before Ray connects, which retries for minutes."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from motet.domain.errors import BadInput, Unreachable

CONNECT_TIMEOUT_S = 5.0
LOCAL = "auto"


def require_listener(address: str) -> None:
    """Raises BadInput if the address is not HOST:PORT, Unreachable if no process listens there."""
    if address == LOCAL:
        return
    host, port = _host_and_port(address)
    try:
        socket.create_connection((host, port), CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise Unreachable(
            f"--address {address}: connection failed ({error.strerror or error}); start a Ray "
            "cluster with 'ray start --head', or leave --address out to train on this machine"
        ) from None


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port or parts.netloc != address:
        raise BadInput(
            f"--address {address}: write HOST:PORT, or {LOCAL} for the cluster on this machine"
        )
    return host, port
