"""Pings a server while requests are unanswered."""

from __future__ import annotations

import threading
from collections.abc import Callable

PING_EVERY_S = 1.5


class Pinger:
    """Calls `ping` every 1.5 s on a thread of its own: a dropped frame is noticed within 5 s."""

    def __init__(self, ping: Callable[[], None], every_s: float = PING_EVERY_S) -> None:
        self._ping = ping
        self._every_s = every_s
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="motet-pinger", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread; it may be in its last call of `ping`."""
        self._ends.set()

    def _run(self) -> None:
        while not self._ends.wait(self._every_s):
            self._ping()
