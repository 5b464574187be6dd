"""Sends primary bytes at once, and secondary bytes while the link carries no primary ones."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Sequence

from motet.transport.backends.kernel_queue import DrainWindow, unacknowledged_bytes
from motet.transport.backends.shared_link import CLAIM_S, RENEW_S, SharedLink
from motet.transport.framing import IOV_MAX, Piece
from motet.transport.lanes import PRIMARY, SECONDARY

CHUNK_BYTES = 16 << 10
"""Secondary bytes that are sent before the sender looks again whether it must yield."""
PRIMARY_UNSENT_BYTES = 128 << 10
"""The kernel takes no more while so much waits in the socket, so that the sender knows how long it
must claim the link."""
YIELD_LIMIT_S = 1.0
"""Secondary bytes of a frame that have yielded for so long are sent like primary ones."""
_PAUSE_S = 0.001
_NO_LIMIT = 0
_DONT_WAIT = int(socket.MSG_DONTWAIT)


class LaneSender:
    """The sending half of one socket in a lane. One thread at a time."""

    def __init__(self, sock: socket.socket, link: SharedLink) -> None:
        """`sock`: of TCP, to another machine."""
        self._sock = sock
        self._link = link
        self._lane = SECONDARY
        self._unsent_limit = _NO_LIMIT
        self._window = DrainWindow()
        self._began_s = self._yielded_s = 0.0
        self._sent_bytes = 0
        self._poll = select.poll()
        self._poll.register(sock, select.POLLOUT)

    def begin(self, lane: int) -> None:
        """What follows travels in this lane."""
        self._lane = lane
        self._began_s, self._yielded_s, self._sent_bytes = time.monotonic(), 0.0, 0
        limit = PRIMARY_UNSENT_BYTES if lane == PRIMARY else _NO_LIMIT
        if limit != self._unsent_limit:
            self._unsent_limit = limit
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, limit)

    def end(self) -> None:
        """What follows has no lane. The link stays claimed while the kernel sends the rest."""
        if self._lane == PRIMARY:
            held = unacknowledged_bytes(self._sock)
            left_bytes = max(self._sent_bytes - held, 1)
            tail_s = held * (time.monotonic() - self._began_s) / left_bytes
            self._link.release(min(tail_s, CLAIM_S))

    def send_some(self, pieces: Sequence[Piece], *, may_block: bool) -> int | None:
        """See Channel."""
        if self._lane == PRIMARY or self._yielded_s >= YIELD_LIMIT_S:
            return self._send_primary(pieces, may_block=may_block)
        return self._send_secondary(pieces, may_block=may_block)

    def _send_primary(self, pieces: Sequence[Piece], *, may_block: bool) -> int | None:
        while True:
            self._link.claim()
            sent_bytes = self._sent(pieces)
            if sent_bytes is not None or not may_block:
                return sent_bytes
            self._poll.poll(RENEW_S * 1e3)

    def _send_secondary(self, pieces: Sequence[Piece], *, may_block: bool) -> int | None:
        while True:
            looked_s = time.monotonic()
            is_claimed = self._link.is_claimed
            if not is_claimed:
                sent_bytes = self._sent_if_there_is_room(pieces, looked_s)
                if sent_bytes is not None:
                    return sent_bytes
            if not may_block:
                return None
            time.sleep(_PAUSE_S)
            if is_claimed:
                self._yielded_s += time.monotonic() - looked_s
                if self._yielded_s >= YIELD_LIMIT_S:
                    return self._send_primary(pieces, may_block=True)

    def _sent_if_there_is_room(self, pieces: Sequence[Piece], now_s: float) -> int | None:
        if not self._window.has_room(unacknowledged_bytes(self._sock), now_s):
            return None
        sent_bytes = self._sent(_first_bytes(pieces, CHUNK_BYTES))
        self._window.add(sent_bytes or 0)
        return sent_bytes

    def _sent(self, pieces: Sequence[Piece]) -> int | None:
        """How many bytes the kernel has taken; None: none."""
        try:
            sent_bytes = self._sock.sendmsg(pieces[:IOV_MAX], (), _DONT_WAIT)
        except BlockingIOError:
            return None
        self._sent_bytes += sent_bytes
        return sent_bytes


def _first_bytes(pieces: Sequence[Piece], size: int) -> list[Piece]:
    first: list[Piece] = []
    for piece in pieces[:IOV_MAX]:
        first.append(memoryview(piece)[:size])
        size -= len(first[-1])
        if not size:
            break
    return first
