"""A launcher whose processes do not exist: `fake_launcher.py MEAN_S EPOCH`.

Gangs start at once and end after a random time. Requests are lines of its input, reports are lines
of its output, as with `motet.live.launcher.local`.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time

from motet.live.launcher.line_program import serve_lines, write_line
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptRunning,
    ExitReason,
    RankExit,
    StartAttempt,
    StopAttempt,
    parse_message,
)

STOP_S = 0.05


class FakeLauncher:
    """Ends of gangs, by attempt."""

    def __init__(self, mean_s: float) -> None:
        self._mean_s, self._random = mean_s, random.Random(os.getpid())
        self._running: dict[str, tuple[StartAttempt, float, asyncio.TimerHandle]] = {}

    def received(self, line: str) -> None:
        """A request of the master; repeated ones change nothing."""
        match parse_message(line):
            case StartAttempt() as request if request.attempt not in self._running:
                life_s = self._random.expovariate(1 / self._mean_s)
                self._running[request.attempt] = (
                    request,
                    time.time(),
                    self._ends_in(request, life_s),
                )
                write_line(AttemptRunning(request.attempt, time.time()))
            case StopAttempt(attempt) if attempt in self._running:
                request, began_s, end = self._running[attempt]
                end.cancel()
                stopping = self._ends_in(request, STOP_S, "stopped")
                self._running[attempt] = request, began_s, stopping

    def _ends_in(
        self, request: StartAttempt, seconds: float, reason: ExitReason = "exited"
    ) -> asyncio.TimerHandle:
        loop = asyncio.get_running_loop()
        return loop.call_later(seconds, self._end, request.attempt, reason)

    def _end(self, attempt: str, reason: ExitReason) -> None:
        request, began_s, _ = self._running.pop(attempt)
        code, number = (0, None) if reason == "exited" else (None, 15)
        end = RankExit(code, number, reason, began_s, time.time())
        write_line(AttemptEnded(attempt, (end,) * len(request.ranks)))


if __name__ == "__main__":
    asyncio.run(serve_lines(FakeLauncher(float(sys.argv[1])).received))
