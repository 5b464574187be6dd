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
from collections.abc import Callable, Sequence

from motet.transport.framing import IOV_MAX, Piece, advance
from motet.transport.sockets import hang_up

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


class Outbox:
    """A queue of frames for one socket. Thread-safe.

    Invariant: while the queue is not empty, exactly one thread has the turn to send
    (`_is_sending`).
    """

    def __init__(self, sock: socket.socket, name: str) -> None:
        self._sock = sock
        self._name = name
        self._lock = threading.Lock()
        self._queue: deque[_Outgoing] = deque()
        self._is_sending = False
        self._is_closed = False
        self._writer: threading.Thread | None = None
        self._work = threading.Semaphore(0)

    def post(self, pieces: list[Piece], total_bytes: int, on_sent: OnSent | None = None) -> None:
        """Send a frame without waiting; a thread sends what the socket does not take now.

        `on_sent` is called once the frame's buffers are free, also if it gets lost.
        """
        entry = _Outgoing(pieces, total_bytes, on_sent)
        with self._lock:
            is_lost = self._is_closed
            if not is_lost:
                self._queue.append(entry)
                if self._is_sending:
                    return
                self._is_sending = True
        if is_lost:
            _release([entry])
        elif not self._send(pieces, socket.MSG_DONTWAIT):
            self._leave_to_writer()

    def close(self) -> None:
        """Break the connection, forget what was not sent, and wait for the writer to end."""
        hang_up(self._sock)
        with self._lock:
            self._is_closed = True
            writer = self._writer
            lost = [] if self._is_sending else self._forget()
        _release(lost)
        self._work.release()
        if writer is not None and writer is not threading.current_thread():
            writer.join()

    def _send(self, batch: Sequence[Piece], flags: int) -> bool:
        """Send until the queue is empty (True) or the socket is full (False)."""
        while batch:
            try:
                if len(batch) == 1:
                    sent_bytes = self._sock.send(batch[0], flags)
                else:
                    sent_bytes = self._sock.sendmsg(batch[:IOV_MAX], (), flags)
            except BlockingIOError:
                return False
            except OSError:
                self._break()
                return True
            complete, batch = self._account(sent_bytes)
            _release(complete)
        return True

    def _account(self, sent_bytes: int) -> tuple[list[_Outgoing], list[Piece]]:
        """Take what was sent off the queue; returns the complete frames and what to send next.

        If nothing is left this thread's turn is over.
        """
        complete: list[_Outgoing] = []
        queue = self._queue
        with self._lock:
            while queue and sent_bytes >= queue[0].total_bytes:
                entry = queue.popleft()
                sent_bytes -= entry.total_bytes
                complete.append(entry)
            if sent_bytes:
                queue[0].advance(sent_bytes)
            if not queue:
                self._is_sending = False
                return complete, []
            return complete, self._batch()

    def _batch(self) -> list[Piece]:
        batch: list[Piece] = []
        for entry in self._queue:
            batch.extend(entry.pieces)
            if len(batch) >= IOV_MAX:
                break
        return batch

    def _leave_to_writer(self) -> None:
        with self._lock:
            if not self._is_closed and self._writer is None:
                self._writer = threading.Thread(target=self._write, name=self._name, daemon=True)
                self._writer.start()
            lost = self._forget() if self._is_closed else []
        _release(lost)
        self._work.release()

    def _write(self) -> None:
        """The writer thread: takes the turn to send whenever it is given."""
        while True:
            self._work.acquire()
            with self._lock:
                if self._is_closed:
                    lost = self._forget()
                    break
                batch = self._batch()
            self._send(batch, 0)
        _release(lost)

    def _break(self) -> None:
        hang_up(self._sock)
        with self._lock:
            self._is_closed = True
            lost = self._forget()
        _release(lost)

    def _forget(self) -> list[_Outgoing]:
        self._is_sending = False
        lost = list(self._queue)
        self._queue.clear()
        return lost


def _release(entries: Sequence[_Outgoing]) -> None:
    for entry in entries:
        if entry.on_sent is not None:
            try:
                entry.on_sent()
            except Exception:
                _LOG.exception("a callback after sending failed")
