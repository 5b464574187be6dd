"""Starts, preemptions and losses of machines that take time, in which jobs hold their slots without
making progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from motet.domain.actions import Action, Preempt, Start
from motet.domain.units import NEVER_US

StartUpTime: TypeAlias = Callable[[int], int]
"""The time that the next start of a job takes, by number; it may be drawn."""
StopTime: TypeAlias = Callable[[int], int]
"""The same of its next preemption."""
LossTime: TypeAlias = Callable[[int], int]
"""The time until it is certain that a job which has lost a machine runs nowhere any more."""
FinishTest: TypeAlias = Callable[[int, int], bool]
"""Whether a job that is preempted with so much work left finishes instead."""


def _never(job: int, left_us: int) -> bool:
    del job, left_us
    return False


class StartUps:
    """The starts and stops of one simulation that have been requested and are not done. At first
    they take no time. `next_us`: when the next one is done. `finishes`: see FinishTest."""

    def __init__(self) -> None:
        self.next_us = NEVER_US
        self.finishes: FinishTest = _never
        self._time_us: StartUpTime | None = None
        self._stop_us: StopTime | None = None
        self._loss_us: LossTime | None = None
        self._lost: set[int] = set()
        self._pending: dict[int, tuple[int, Action]] = {}

    def take(self, time_us: StartUpTime) -> None:
        """From now on every start takes this time."""
        self._time_us = time_us

    def take_stops(self, time_us: StopTime, finishes: FinishTest) -> None:
        """From now on every preemption takes this time."""
        self._stop_us, self.finishes = time_us, finishes

    def take_losses(self, time_us: LossTime) -> None:
        """From now on jobs that lose a machine hold their slots for this time."""
        self._loss_us = time_us

    def continue_with(self, actions: Iterable[tuple[int, Action]]) -> None:
        """Actions that are carried out at the beginning, with the times at which they are done."""
        self._pending = {action.job: (at_us, action) for at_us, action in actions}
        self._look()

    def lost(self, job: int) -> bool:
        """A job has lost a machine. Returns whether it holds its slots until a `Preempt`, which the
        engine requests at this instant unless the job has yet to get slots, is done."""
        if self._loss_us is None:
            self.withdraw([job])
            return False
        self._lost.add(job)
        if isinstance(self._pending.get(job, (0, None))[1], Start):
            self.withdraw([job])
        return True

    def ready(self, now_us: int, actions: list[Action]) -> list[Action]:
        """The actions that are carried out at once; the others are kept until they are due."""
        if self._time_us is None and self._stop_us is None and self._loss_us is None:
            return actions
        found = []
        for action in actions:
            self.withdraw([action.job])
            if took_us := self._took_us(action):
                self._pending[action.job] = now_us + took_us, action
            else:
                found.append(action)
        self._lost.clear()
        self._look()
        return found

    def _took_us(self, action: Action) -> int:
        time_us = self._stop_us if isinstance(action, Preempt) else self._time_us
        if isinstance(action, Preempt) and action.job in self._lost:
            time_us = self._loss_us
        return 0 if time_us is None else time_us(action.job)

    def due(self, now_us: int) -> list[Action]:
        """The starts and stops that are done now."""
        if now_us < self.next_us:
            return []
        found = [action for at_us, action in self._pending.values() if at_us <= now_us]
        self.withdraw([action.job for action in found])
        return found

    def withdraw(self, jobs: Iterable[int]) -> None:
        """These jobs have lost their slots."""
        if self._pending:
            for job in jobs:
                self._pending.pop(job, None)
            self._look()

    def __contains__(self, job: int) -> bool:
        """Whether it is being started."""
        return job in self._pending

    def _look(self) -> None:
        self.next_us = min((at_us for at_us, _ in self._pending.values()), default=NEVER_US)
