"""The state of one gang: all processes start, or none; all end when one fails. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from motet.live.launcher.messages import RankExit

Phase: TypeAlias = Literal["hold", "run", "stop"]


class ProcessGang:
    """Folds what happens to the processes into the phase that all of them should have.

    A gang that runs may be resized: further processes join it, and some are dismissed, whose ends
    do not concern the others.
    """

    def __init__(self, size: int, joined: int = 0) -> None:
        """`size`: number of processes. `joined`: how many of the last ones joined a running gang,
        of which this is a later view."""
        self.size, self._first = size, size - joined
        self.phase: Phase = "hold"
        self._held: set[int] = set()
        self._started: dict[int, float] = {}
        self._exits: dict[int, RankExit] = {}
        self._dismissed: set[int] = set()

    def grow(self, size: int) -> None:
        """Further processes join, so that the gang has had `size`; never fewer than before."""
        self.size = max(self.size, size)

    def dismiss(self, ranks: Iterable[int]) -> None:
        """These processes have to leave; the others go on."""
        self._dismissed.update(ranks)

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
        """The process of a rank has ended, successfully or not.

        The job is done when its first process is. A process that joined cannot train without the
        others, so it has to leave then.
        """
        if rank in self._dismissed:
            end = replace(end, reason="dismissed")
        self._exits[rank] = end
        if end.started_s is not None:
            self._started.setdefault(rank, end.started_s)
        if end.has_failed:
            self.phase = "stop"
        elif rank == 0:
            self.dismiss(range(self._first, self.size))

    def stop(self) -> None:
        """The master requests the end."""
        self.phase = "stop"

    @property
    def dismissed(self) -> tuple[int, ...]:
        """Ranks that have to leave, or have left."""
        return tuple(sorted(self._dismissed))

    @property
    def running_since_s(self) -> float | None:
        """Start of the last process that began with the gang, Unix time; None: one has not been
        started."""
        found = [self._started.get(rank) for rank in range(self._first)]
        known = [each for each in found if each is not None]
        return max(known) if len(known) == len(found) else None

    @property
    def has_its_size(self) -> bool:
        """Whether all processes have been started, and those that had to leave have ended."""
        ranks = range(self.size)
        return all(rank in self._exits or rank in self._started for rank in ranks) and all(
            rank in self._exits for rank in self._dismissed
        )

    @property
    def exits(self) -> tuple[RankExit, ...] | None:
        """By rank; None: a process is left."""
        if len(self._exits) < self.size:
            return None
        return tuple(self._exits[rank] for rank in range(self.size))

    def has_ended(self, rank: int) -> bool:
        """Whether the process of a rank has ended."""
        return rank in self._exits
