"""Which of the threads that wait for replies reads the socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Leadership:
    """At most one thread leads; the others sleep until they are served or have to lead."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._has_leader = False
        self._follower_count = 0

    def lead_unless(self, is_served: Callable[[], bool], deadline_s: float | None) -> bool:
        """True once this thread leads (it must `step_down`), False once it is served.

        Raises TimeoutError at the deadline (monotonic clock).
        """
        with self._changed:
            self._follower_count += 1
            try:
                while not is_served():
                    if not self._has_leader:
                        self._has_leader = True
                        return True
                    self._sleep(deadline_s)
            finally:
                self._follower_count -= 1
        return False

    def step_down(self) -> None:
        """Let another thread lead."""
        with self._changed:
            self._has_leader = False
            self._changed.notify_all()

    def announce(self) -> None:
        """Wake the others: some of them may be served now."""
        if self._follower_count:
            with self._changed:
                self._changed.notify_all()

    def _sleep(self, deadline_s: float | None) -> None:
        remaining_s = None if deadline_s is None else deadline_s - time.monotonic()
        if remaining_s is not None and remaining_s <= 0:
            raise TimeoutError("no reply in time")
        self._changed.wait(remaining_s)
