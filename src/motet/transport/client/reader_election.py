"""Which of the threads that wait for replies reads the socket."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Served(Protocol):
    """What a thread waits for."""

    is_done: bool


class Leadership:
    """At most one thread leads; the others sleep until they are served or have to lead."""

    def __init__(self) -> None:
        self._lead = threading.Lock()
        self._changed = threading.Condition()
        self._follower_count = 0

    def lead_unless(self, served: Served, deadline_s: float | None) -> bool:
        """True once this thread leads (it must `step_down`), False once it is served.

        Raises TimeoutError at the deadline (monotonic clock).
        """
        if self._lead.acquire(blocking=False):
            return True
        with self._changed:
            self._follower_count += 1
            try:
                return self._follow(served, deadline_s)
            finally:
                self._follower_count -= 1

    def lead(self) -> None:
        """Lead as soon as nobody else does."""
        self._lead.acquire()

    def step_down(self) -> None:
        """Let another thread lead."""
        self._lead.release()
        self.announce()

    def announce(self) -> None:
        """Wake the others: some of them may be served now."""
        if self._follower_count:
            with self._changed:
                self._changed.notify_all()

    def _follow(self, served: Served, deadline_s: float | None) -> bool:
        while not served.is_done:
            if self._lead.acquire(blocking=False):
                return True
            remaining_s = None if deadline_s is None else deadline_s - time.monotonic()
            if remaining_s is not None and remaining_s <= 0:
                raise TimeoutError("no reply in time")
            self._changed.wait(remaining_s)
        return False
