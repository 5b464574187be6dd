"""A port that stays a server's own while the server is down."""

from __future__ import annotations

import random
import socket
from pathlib import Path

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST_UNPRIVILEGED = 1024


def lasting_port() -> int:
    """Free now, and outside of the range from which the kernel takes the source ports of
    connections: of those, a client that connects again and again may hold the server's."""
    first, last = map(int, _EPHEMERAL.read_text(encoding="ascii").split())
    ports = [*range(_FIRST_UNPRIVILEGED, first), *range(last + 1, 1 << 16)]
    random.SystemRandom().shuffle(ports)
    return next(filter(_is_free, ports))


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True
