"""The election of the one thread that reads replies, among those that wait for replies."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Awaited(Protocol):
    """What a thread waits for."""

    is_done: bool


class ReaderElection:
    """At most one thread is the reader; the others block until they are done or elected."""

    def __init__(self) -> None:
        self._reader = threading.Lock()
        self._changed = threading.Condition()
        self._waiting_count = 0

    def elect_unless_done(self, awaited: Awaited, deadline_s: float | None) -> bool:
        """Return True once this thread is the reader (it must `resign`), False once it is done.

        Raises TimeoutError at the deadline (monotonic clock).
        """
        if self._reader.acquire(blocking=False):
            return True
        with self._changed:
            self._waiting_count += 1
            try:
                return self._wait(awaited, deadline_s)
            finally:
                self._waiting_count -= 1

    def elect(self) -> None:
        """Block until this thread is the reader."""
        self._reader.acquire()

    def resign(self) -> None:
        """End being the reader and wake the waiting threads to elect another one."""
        self._reader.release()
        if self._waiting_count:
            self.notify()

    def notify(self) -> None:
        """Wake the waiting threads: what they wait for may be done."""
        if self._waiting_count:
            with self._changed:
                self._changed.notify_all()

    def _wait(self, awaited: Awaited, deadline_s: float | None) -> bool:
        while not awaited.is_done:
            if self._reader.acquire(blocking=False):
                return True
            remaining_s = None if deadline_s is None else deadline_s - time.monotonic()
            if remaining_s is not None and remaining_s <= 0:
                raise TimeoutError("no reply in time")
            self._changed.wait(remaining_s)
        return False
