"""How much of a connection's data the kernel holds, and how much it should hold."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios

HELD_S = 0.003
"""The kernel holds what the link carries in so long: enough to keep it busy between two looks."""
LEAST_BYTES, MOST_BYTES = 16 << 10, 4 << 20
LOOK_S = 0.001
_COUNT = struct.Struct("i")


def unacknowledged_bytes(sock: socket.socket) -> int:
    """What the kernel has taken of a TCP connection and the peer has not acknowledged."""
    found: int = _COUNT.unpack(fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(_COUNT.size)))[0]
    return found


class DrainWindow:
    """Limits what the kernel holds to what the connection drains in `HELD_S`. Pure.

    Bytes in the kernel do not yield, and TCP itself fills the queue of a link.
    """

    def __init__(self) -> None:
        self.window_bytes = LEAST_BYTES
        self._held_bytes = 0
        self._looked_s = 0.0

    def has_room(self, held_bytes: int, now_s: float) -> bool:
        """Whether more may be sent. `held_bytes`: what the kernel holds now."""
        passed_s = now_s - self._looked_s
        if passed_s >= LOOK_S:
            self._resize(self._held_bytes - held_bytes, held_bytes, passed_s)
            self._held_bytes, self._looked_s = held_bytes, now_s
        return held_bytes < self.window_bytes

    def add(self, sent_bytes: int) -> None:
        """The kernel has taken so much more."""
        self._held_bytes += sent_bytes

    def _resize(self, drained_bytes: int, left_bytes: int, passed_s: float) -> None:
        if left_bytes:
            size = round(drained_bytes / passed_s * HELD_S)
        elif drained_bytes >= self.window_bytes and passed_s < HELD_S:  # It drains faster.
            size = 2 * self.window_bytes
        else:  # Nothing is known of the time in which it drained.
            return
        self.window_bytes = min(max(size, LEAST_BYTES), MOST_BYTES)
