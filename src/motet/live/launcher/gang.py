"""The state of one gang: all processes start, or none; all end when one fails. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from motet.live.launcher.messages import RankExit

Phase: TypeAlias = Literal["hold", "run", "stop"]


class ProcessGang:
    """Folds what happens to the processes into the phase that all of them should have."""

    def __init__(self, size: int) -> None:
        """`size`: number of processes."""
        self.size = size
        self.phase: Phase = "hold"
        self._held: set[int] = set()
        self._started: dict[int, float] = {}
        self._exits: dict[int, RankExit] = {}

    def held(self, rank: int) -> None:
        """The shepherd of a rank is ready."""
        self._held.add(rank)
        if self.phase == "hold" and len(self._held) == self.size:
            self.phase = "run"

    def started(self, rank: int, at_s: float) -> None:
        """The process of a rank runs. After a restart of the launcher this comes first."""
        self._started[rank] = at_s
        if self.phase == "hold":
            self.phase = "run"

    def ended(self, rank: int, end: RankExit) -> None:
        """The process of a rank has ended, successfully or not."""
        self._exits[rank] = end
        if end.started_s is not None:
            self._started.setdefault(rank, end.started_s)
        if end.code != 0 or end.reason != "exited":
            self.phase = "stop"

    def stop(self) -> None:
        """The master requests the end."""
        self.phase = "stop"

    @property
    def running_since_s(self) -> float | None:
        """Start of the last process, Unix time; None: a process has not been started."""
        return max(self._started.values()) if len(self._started) == self.size else None

    @property
    def exits(self) -> tuple[RankExit, ...] | None:
        """By rank; None: a process is left."""
        if len(self._exits) < self.size:
            return None
        return tuple(self._exits[rank] for rank in range(self.size))

    def has_ended(self, rank: int) -> bool:
        """Whether the process of a rank has ended."""
        return rank in self._exits
