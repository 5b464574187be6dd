"""What a server still has to send on one connection.

Whoever posts a reply sends what the socket takes at once. What it does not take is left to a
writer thread, so the thread that reads requests never waits for a slow reader at the other end,
and two peers that send large things to each other cannot lock each other up.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections import deque
from collections.abc import Callable

from motet.transport.backends.socket_channel import hang_up
from motet.transport.framing import IOV_MAX, Piece, advance

_LOG = logging.getLogger(__name__)

OnSent = Callable[[], None]


class _Outgoing:
    """One frame to send: its unsent pieces and what to call when its buffers are free again."""

    __slots__ = ("on_sent", "pieces", "total_bytes")

    def __init__(self, pieces: list[Piece], total_bytes: int, on_sent: OnSent | None) -> None:
        self.pieces = pieces
        self.total_bytes = total_bytes
        self.on_sent = on_sent

    def advance(self, sent_bytes: int) -> None:
        """Drop what was sent."""
        index, rest = advance(self.pieces, 0, sent_bytes)
        self.pieces[: index + 1] = [rest]
        self.total_bytes -= sent_bytes

    def release(self) -> None:
        """Sent or lost: the buffers are free."""
        if self.on_sent is not None:
            try:
                self.on_sent()
            except Exception:
                _LOG.exception("a callback after sending failed")


class Outbox:
    """A queue of frames for one socket. Thread-safe.

    Whoever holds the turn sends from the head of the queue; anybody appends to its tail. Holders
    look at the queue again after they gave the turn up, so nothing is left lying.
    """

    def __init__(self, sock: socket.socket, name: str) -> None:
        self._sock = sock
        self._name = name
        self._queue: deque[_Outgoing] = deque()
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._is_closed = False
        self._writer: threading.Thread | None = None
        self._writer_has_turn = False
        self._work = threading.Semaphore(0)

    def post(self, pieces: list[Piece], total_bytes: int, on_sent: OnSent | None = None) -> None:
        """Send a frame without waiting; a thread sends what the socket does not take now.

        `on_sent` is called once the frame's buffers are free, also if it gets lost.
        """
        self._queue.append(_Outgoing(pieces, total_bytes, on_sent))
        self._drain()

    def close(self) -> None:
        """Break the connection, forget what was not sent, and wait for the writer to end."""
        hang_up(self._sock)
        with self._lock:
            self._is_closed = True
            writer = self._writer
        self._work.release()
        if writer is not None and writer is not threading.current_thread():
            writer.join()
        self._drain()

    def _drain(self) -> None:
        while self._queue and self._turn.acquire(blocking=False):
            if not self._send(socket.MSG_DONTWAIT) and self._leave_to_writer():
                return
            self._turn.release()

    def _send(self, flags: int) -> bool:
        """Send until the queue is empty (True) or the socket is full (False). Holds the turn."""
        queue = self._queue
        while queue:
            pieces = queue[0].pieces if len(queue) == 1 else self._batch()
            try:
                if len(pieces) == 1:
                    sent_bytes = self._sock.send(pieces[0], flags)
                else:
                    sent_bytes = self._sock.sendmsg(pieces[:IOV_MAX], (), flags)
            except BlockingIOError:
                return False
            except OSError:
                hang_up(self._sock)
                self._forget()
                return True
            self._account(sent_bytes)
        return True

    def _batch(self) -> list[Piece]:
        """The next pieces to send, of as many frames as one system call takes."""
        batch: list[Piece] = []
        for entry in self._queue.copy():
            batch.extend(entry.pieces)
            if len(batch) >= IOV_MAX:
                break
        return batch

    def _account(self, sent_bytes: int) -> None:
        """Take what was sent off the queue. Holds the turn."""
        queue = self._queue
        while queue and sent_bytes >= queue[0].total_bytes:
            entry = queue.popleft()
            sent_bytes -= entry.total_bytes
            entry.release()
        if sent_bytes:
            queue[0].advance(sent_bytes)

    def _leave_to_writer(self) -> bool:
        """Give the turn to the writer thread; False if the connection was closed meanwhile."""
        with self._lock:
            if self._is_closed:
                self._forget()
                return False
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name=self._name, daemon=True)
                self._writer.start()
            self._writer_has_turn = True
        self._work.release()
        return True

    def _write(self) -> None:
        """The writer thread: sends whenever it is given the turn, ends when woken without it."""
        while True:
            self._work.acquire()
            if not self._writer_has_turn:
                return
            self._send(0)
            self._writer_has_turn = False
            self._turn.release()
            self._drain()

    def _forget(self) -> None:
        """Drop what was not sent. Holds the turn."""
        while self._queue:
            self._queue.popleft().release()
