"""How long threads of this process hold the GIL, seen from a thread that wants it all the time."""

from __future__ import annotations

import threading
import time

_PAUSE_S = 0.001


class GilWatch(threading.Thread):
    """Wakes up every millisecond and notes what happened since it last did.

    A waiting thread gets the GIL when the one that holds it releases it, at the latest after
    `sys.getswitchinterval()` (5 ms) unless it is inside a C function that keeps it. The CPU time of
    the whole process between two wake-ups is an upper bound of that: also threads without the GIL
    use CPU time, but other processes of a busy machine do not count.
    """

    def __init__(self) -> None:
        super().__init__(name="gil-watch", daemon=True)
        self._gaps_s: list[tuple[float, float]] = []

    def take(self) -> list[tuple[float, float]]:
        """CPU-seconds of the process and wall seconds between two wake-ups, since the last call."""
        taken, self._gaps_s = self._gaps_s, []
        return taken

    def run(self) -> None:
        """Until the process ends."""
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        while True:
            time.sleep(_PAUSE_S)
            before_s = cpu_s, wall_s
            cpu_s, wall_s = time.process_time(), time.perf_counter()
            self._gaps_s.append((cpu_s - before_s[0], wall_s - before_s[1]))
