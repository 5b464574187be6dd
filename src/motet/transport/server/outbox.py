"""The queue of frames that a server still has to send on one connection.

The thread that posts a frame sends what the channel takes at once. A writer thread sends the rest,
so the thread that reads requests never blocks on a slow client, and two peers that send large
frames to each other cannot deadlock.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from motet.transport.channel import Channel
from motet.transport.framing import IOV_MAX, Piece, advance
from motet.transport.lanes import NO_LANE

_LOG = logging.getLogger(__name__)

OnSent = Callable[[], None]
_NOT_CHOSEN = -1


class _Outgoing:
    """One frame to send: its unsent pieces and the callback for when its buffers are free."""

    __slots__ = ("lane", "on_sent", "pieces", "total_bytes")

    def __init__(
        self, pieces: list[Piece], total_bytes: int, on_sent: OnSent | None, lane: int
    ) -> None:
        self.lane = lane
        self.pieces = pieces
        self.total_bytes = total_bytes
        self.on_sent = on_sent

    def advance(self, sent_bytes: int) -> None:
        """Drop the bytes that were sent."""
        index, rest = advance(self.pieces, 0, sent_bytes)
        self.pieces[: index + 1] = [rest]
        self.total_bytes -= sent_bytes

    def release(self) -> None:
        """Run the callback: the frame was sent or lost."""
        if self.on_sent is not None:
            try:
                self.on_sent()
            except Exception:
                _LOG.exception("a callback after sending failed")


class Outbox:
    """A queue of frames for one channel. Thread-safe.

    The holder of the send lock sends from the head of the queue; every thread may append to its
    tail. A holder checks the queue again after releasing the lock, so no frame is left behind.
    """

    def __init__(self, channel: Channel, name: str) -> None:
        self._channel = channel
        self._name = name
        self._queue: deque[_Outgoing] = deque()
        self._has_lanes = False
        self._lane = _NOT_CHOSEN
        self._send_lock = threading.Lock()
        self._lock = threading.Lock()
        self._is_closed = False
        self._writer: threading.Thread | None = None
        self._writer_has_send_lock = False
        self._work = threading.Semaphore(0)

    def post(
        self,
        pieces: list[Piece],
        total_bytes: int,
        on_sent: OnSent | None = None,
        lane: int = NO_LANE,
    ) -> None:
        """Send a frame without blocking; the writer thread sends what the channel does not take.

        `on_sent` is called once the frame's buffers are free, also if the frame is lost. `lane`:
        of the link; frames of a connection keep their order, whatever their lanes.
        """
        if lane != NO_LANE:
            self._has_lanes = True
        self._queue.append(_Outgoing(pieces, total_bytes, on_sent, lane))
        self._drain()

    def close(self) -> None:
        """Break the connection, drop unsent frames, and wait for the writer thread to end."""
        self._channel.shutdown()
        with self._lock:
            self._is_closed = True
            writer = self._writer
        self._work.release()
        if writer is not None and writer is not threading.current_thread():
            writer.join()
        self._drain()

    def _drain(self) -> None:
        while self._queue and self._send_lock.acquire(blocking=False):
            if not self._send(may_block=False) and self._pass_to_writer():
                return
            self._send_lock.release()

    def _send(self, *, may_block: bool) -> bool:
        """Send until the queue is empty (True) or the channel is full (False).

        The caller holds the send lock.
        """
        queue = self._queue
        while queue:
            pieces = queue[0].pieces if len(queue) == 1 else self._batch()
            try:
                if self._has_lanes:
                    self._choose_lane()
                sent_bytes = self._channel.send_some(pieces, may_block=may_block)
            except OSError:
                self._channel.shutdown()
                self._drop_all()
                return True
            if sent_bytes is None:
                return False
            self._account(sent_bytes)
        if self._has_lanes:
            self._channel.use_lane(NO_LANE)
        return True

    def _choose_lane(self) -> None:
        """The most urgent lane of all frames, since the first one delays those behind it."""
        lane = min(entry.lane for entry in self._queue.copy())
        if lane != self._lane:
            self._lane = lane
            self._channel.use_lane(lane)

    def _batch(self) -> list[Piece]:
        """Return the next pieces to send, of as many frames as one system call takes."""
        batch: list[Piece] = []
        for entry in self._queue.copy():
            batch.extend(entry.pieces)
            if len(batch) >= IOV_MAX:
                break
        return batch

    def _account(self, sent_bytes: int) -> None:
        """Remove sent bytes from the queue. The caller holds the send lock."""
        queue = self._queue
        while queue and sent_bytes >= queue[0].total_bytes:
            entry = queue.popleft()
            sent_bytes -= entry.total_bytes
            self._lane = _NOT_CHOSEN
            if entry.on_sent is not None:
                entry.release()
        if sent_bytes:
            queue[0].advance(sent_bytes)

    def _pass_to_writer(self) -> bool:
        """Pass the send lock to the writer thread; False if the outbox has been closed."""
        with self._lock:
            if self._is_closed:
                self._drop_all()
                return False
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name=self._name, daemon=True)
                self._writer.start()
            self._writer_has_send_lock = True
        self._work.release()
        return True

    def _write(self) -> None:
        """Run the writer thread: send when given the send lock, end when woken without it."""
        while True:
            self._work.acquire()
            if not self._writer_has_send_lock:
                return
            self._send(may_block=True)
            self._writer_has_send_lock = False
            self._send_lock.release()
            self._drain()

    def _drop_all(self) -> None:
        """Drop unsent frames. The caller holds the send lock."""
        while self._queue:
            self._queue.popleft().release()
