"""The least memory that was free for a while: jobs need most in the middle of a computation."""

from __future__ import annotations

import threading
from dataclasses import replace

from motet.runtime.spilling.machine_memory import MachineMemory, MemoryState

EVERY_S = 0.02


class MemoryWatch:
    """Looks at the memory now, and on a thread from `start` to `close`."""

    def __init__(self, memory: MachineMemory) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._lowest: MemoryState | None = None
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look every EVERY_S from now on; safe to call again."""
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._run, name="memory-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()

    def state(self, claimed: int = 0) -> MemoryState:
        """As it is now, after so many bytes are taken."""
        found = self._memory.state()
        found = replace(found, free_bytes=found.free_bytes - claimed)
        with self._lock:
            if self._lowest is None or found.free_bytes < self._lowest.free_bytes:
                self._lowest = found
        return found

    def lowest(self) -> MemoryState:
        """With the least free memory since this was last asked, now included."""
        found = self.state()
        with self._lock:
            lowest, self._lowest = self._lowest or found, None
        return lowest

    def _run(self) -> None:
        while not self._ends.wait(EVERY_S):
            self.state()
