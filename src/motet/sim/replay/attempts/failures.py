"""Attempts that fail after some work, and how long their jobs then wait before the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from motet.domain.units import NEVER_US


@dataclass(frozen=True, slots=True)
class FailurePoint:
    """`left_us`: the work that the job has left then, alone on its full request. `delay_us`: the
    time from then on in which it may not start."""

    left_us: int
    delay_us: int = 0


class Failures:
    """The failures of one simulation that are still to come. At first there are none. `next_us`:
    when the next one happens, at the present speeds of jobs. No work is lost by a failure."""

    def __init__(self) -> None:
        self.next_us = NEVER_US
        self._points: dict[int, list[FailurePoint]] = {}
        self._due_us: dict[int, int] = {}

    def take(self, points: Mapping[int, Sequence[FailurePoint]]) -> None:
        """From now on jobs fail at these points, each in the order of its work."""
        self._points = {job: [*reversed(each)] for job, each in points.items() if each}

    def trains(self, job: int, reaches_us: Callable[[int], int]) -> None:
        """A job trains. `reaches_us`: when it has only so much work left."""
        if points := self._points.get(job):
            self._due_us[job] = reaches_us(points[-1].left_us)
            self._look()

    def rests(self, job: int) -> None:
        """A job trains no more."""
        if self._due_us.pop(job, None) is not None:
            self._look()

    def due(self, now_us: int) -> dict[int, FailurePoint]:
        """The jobs that fail now; each failure is given once."""
        if now_us < self.next_us:
            return {}
        jobs = sorted(job for job, due_us in self._due_us.items() if due_us <= now_us)
        for job in jobs:
            del self._due_us[job]
        self._look()
        return {job: self._points[job].pop() for job in jobs}

    def _look(self) -> None:
        self.next_us = min(self._due_us.values(), default=NEVER_US)
