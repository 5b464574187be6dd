"""What a server still has to send on one connection.

Anybody may put replies in; whoever flushes sends what the socket takes at once. What it does not
take is left to a writer thread, so the thread that reads requests never waits for a slow reader
at the other end, and two peers that send large things to each other cannot lock each other up.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections import deque
from collections.abc import Callable, Sequence

from motet.transport.framing import IOV_MAX, advance
from motet.transport.sockets import hang_up

_LOG = logging.getLogger(__name__)

OnSent = Callable[[], None]


class _Outgoing:
    """One frame to send: its unsent views and what to call when its buffers are free again."""

    __slots__ = ("on_sent", "total_bytes", "views")

    def __init__(self, views: list[memoryview], total_bytes: int, on_sent: OnSent | None) -> None:
        self.views = views
        self.total_bytes = total_bytes
        self.on_sent = on_sent


class Outbox:
    """A queue of frames for one socket. Thread-safe."""

    def __init__(self, sock: socket.socket, name: str) -> None:
        self._sock = sock
        self._name = name
        self._lock = threading.Lock()
        self._queue: deque[_Outgoing] = deque()
        self._is_sending = False
        self._is_closed = False
        self._writer: threading.Thread | None = None
        self._work = threading.Semaphore(0)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits to be sent."""
        return not self._queue

    def put(self, views: Sequence[memoryview], on_sent: OnSent | None = None) -> None:
        """Append a frame; `on_sent` is called once its buffers are free, also if it gets lost."""
        entry = _Outgoing(list(views), sum(map(len, views)), on_sent)
        with self._lock:
            if not self._is_closed:
                self._queue.append(entry)
                return
        _release([entry])

    def flush(self) -> None:
        """Send what the socket takes without waiting; a thread sends the rest."""
        if not self._queue:
            return
        with self._lock:
            if self._is_sending or self._is_closed:
                return
            self._is_sending = True
        if not self._send(socket.MSG_DONTWAIT):
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

    def _send(self, flags: int) -> bool:
        """Send until the queue is empty (True) or the socket is full (False)."""
        while batch := self._next_batch():
            try:
                sent = self._sock.sendmsg(batch, (), flags)
            except BlockingIOError:
                return False
            except OSError:
                self._break()
                return True
            _release(self._account(sent))
        return True

    def _next_batch(self) -> list[memoryview]:
        """The next views to send; ends this thread's turn if there are none."""
        batch: list[memoryview] = []
        with self._lock:
            for entry in self._queue:
                batch.extend(entry.views)
                if len(batch) >= IOV_MAX:
                    break
            if not batch:
                self._is_sending = False
        return batch[:IOV_MAX]

    def _account(self, sent_bytes: int) -> list[_Outgoing]:
        """Take what was sent off the queue; returns the frames that are complete."""
        complete: list[_Outgoing] = []
        with self._lock:
            while self._queue and sent_bytes >= self._queue[0].total_bytes:
                entry = self._queue.popleft()
                sent_bytes -= entry.total_bytes
                complete.append(entry)
            if sent_bytes:
                entry = self._queue[0]
                index, rest = advance(entry.views, 0, sent_bytes)
                entry.views[: index + 1] = [rest]
                entry.total_bytes -= sent_bytes
        return complete

    def _leave_to_writer(self) -> None:
        with self._lock:
            if not self._is_closed and self._writer is None:
                self._writer = threading.Thread(target=self._write, name=self._name, daemon=True)
                self._writer.start()
            lost = self._forget() if self._is_closed else []
        _release(lost)
        self._work.release()

    def _write(self) -> None:
        while True:
            self._work.acquire()
            with self._lock:
                if self._is_closed:
                    lost = self._forget()
                    break
            self._send(0)
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
