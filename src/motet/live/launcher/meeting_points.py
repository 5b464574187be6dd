"""Ports at which the processes of a gang may find each other."""

from __future__ import annotations

import random
import socket

from motet.live.launcher.node_messages import MeetingPoint

_PORTS = range(20_000, 30_000)
"""Below the ports that Linux gives to connections of its own choice (ip_local_port_range)."""
_TRIES = 200


def free_meeting_point(address: str) -> MeetingPoint:
    """A port of this machine, which is reached at `address`, at which no process listens now.

    Rank 0 listens there some moments later; if another process has taken the port by then, the
    attempt fails as it does under torchrun.
    """
    for port in random.SystemRandom().sample(_PORTS, _TRIES):
        if _bound_port(port) is not None:
            return MeetingPoint(address, port)
    return MeetingPoint(address, _bound_port(0) or 0)


def _bound_port(port: int) -> int | None:
    """The port, or any if it is 0; None: it is in use at an address of this machine."""
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return None
        found: int = probe.getsockname()[1]
        return found
