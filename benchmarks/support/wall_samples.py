"""Where the threads of a process spend their time: their stacks, looked at every millisecond."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

_EVERY_S = 0.001
_DEPTH = 3


class WallSamples:
    """Counts the innermost functions of all threads but its own, until the block ends.

    A sample counts for the time since the one before it, so that a thread which waits and one which
    computes both have the wall time that they take. C functions count for their Python callers.
    """

    def __init__(self) -> None:
        self.seconds: Counter[tuple[str, str]] = Counter()
        self.total_s = 0.0
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="wall-samples", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._has_ended.set()
        self._thread.join()

    def lines(self, steps: int, least_ms: float = 0.2) -> list[str]:
        """Milliseconds of a step by thread and functions, the longest first."""
        found = []
        for (thread, place), seconds in self.seconds.most_common():
            if (each_ms := 1e3 * seconds / steps) >= least_ms:
                found.append(f"{each_ms:9.2f} ms  {thread:18}  {place}")
        return found

    def _run(self) -> None:
        began_s = last_s = time.perf_counter()
        while not self._has_ended.wait(_EVERY_S):
            now_s = time.perf_counter()
            names = {each.ident: each.name for each in threading.enumerate()}
            for thread, frame in sys._current_frames().items():
                if thread != self._thread.ident:
                    name = names.get(thread, "of PyTorch")
                    self.seconds[name.partition("(")[0].strip(), _place(frame)] += now_s - last_s
            last_s = now_s
        self.total_s = last_s - began_s


def _place(frame: FrameType | None) -> str:
    """The innermost functions, the outer one first."""
    places: list[str] = []
    while frame is not None and len(places) < _DEPTH:
        places.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return " > ".join(reversed(places))
