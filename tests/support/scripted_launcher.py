"""A launcher without processes: it remembers requests and reports what a test decides."""

from __future__ import annotations

from collections.abc import Sequence

from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptResized,
    AttemptRunning,
    ExitReason,
    LauncherRequest,
    RankExit,
    Report,
    StartAttempt,
    StopAttempt,
)

JUST_NOW_S = 4e9
"""Later than the master's time: a report is as old as the master permits, not old at all."""


class ScriptedLauncher:
    """`running`: attempts that were started and have not ended; `stopping`: those told to stop."""

    def __init__(self) -> None:
        self.running: dict[str, StartAttempt] = {}
        self.stopping: set[str] = set()
        self._ended: set[str] = set()

    def receive(self, requests: Sequence[LauncherRequest]) -> None:
        """Requests of the master; repeated ones change nothing."""
        for request in requests:
            if request.attempt in self._ended:
                continue
            match request:
                case StartAttempt():
                    self.running[request.attempt] = request
                case StopAttempt():
                    assert request.attempt in self.running, "a stop before the start"
                    self.stopping.add(request.attempt)

    def resized(self, attempt: str) -> Report:
        """The gang has the size that was requested last."""
        request = self.running[attempt]
        return AttemptResized(attempt, len(request.ranks), request.dismissed)

    def started(self, attempt: str) -> Report:
        """All processes of an attempt run."""
        return AttemptRunning(attempt, JUST_NOW_S)

    def ended(
        self,
        attempt: str,
        code: int | None = 0,
        reason: ExitReason = "exited",
        signal: int | None = None,
        log_tail: str = "",
        saved_us: int | None = None,
        lasted_s: float = JUST_NOW_S,
    ) -> Report:
        """All processes of an attempt have ended in the same way, so long after their start by the
        clocks of their machines."""
        request = self.running.pop(attempt)
        self.stopping.discard(attempt)
        self._ended.add(attempt)
        end = RankExit(code, signal, reason, 1.0, 1.0 + lasted_s)
        return AttemptEnded(attempt, (end,) * len(request.ranks), log_tail, saved_us)

    def machines_in_use(self) -> dict[str, int]:
        """Processes by machine."""
        found: dict[str, int] = {}
        for request in self.running.values():
            for task in request.ranks:
                found[task.machine] = found.get(task.machine, 0) + 1
        return found
