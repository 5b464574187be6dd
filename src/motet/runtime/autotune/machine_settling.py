"""Machines that come and go, as a job's pilot hears of them: when to decide, and what to cut short.

They usually come, and are reclaimed, several at a time, but are told of one by one. Who decided at
the first of them would lead the job through configurations that it leaves at once, and drain the
last machine too late. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass

from motet.cruise.calibration.machine_groups import CandidateMachine
from motet.domain.reconfiguration import Add, Delete, Move
from motet.runtime.autotune.history import Turn
from motet.runtime.elastic.plan_queue import Reconfiguration

# A notice has a deadline, so that it waits less.
_NOTICES_S = 2.0
_MACHINES_S = 3.0
_LONGEST_S = 10.0


class Settling:
    """How long machines have been the same; those of the first look always were."""

    def __init__(self, notices_s: float = _NOTICES_S, machines_s: float = _MACHINES_S) -> None:
        """How long no more notices must have come, and nothing have changed at all."""
        self._notices_s = notices_s
        self._machines_s = machines_s
        self._there: frozenset[int] | None = None
        self._leaving: frozenset[int] = frozenset()
        self._noticed_s = self._first_noticed_s = -math.inf
        self._changed_s = -math.inf

    def look(self, machines: Iterable[CandidateMachine], now_s: float) -> None:
        """Take in which machines there are, and which of them leave."""
        listed = list(machines)
        there, leaving = frozenset(each.number for each in listed), leaving_of(listed)
        if self._there is not None and (there, leaving) != (self._there, self._leaving):
            self._changed_s = now_s
            if not leaving <= self._leaving:
                if now_s - self._noticed_s >= self._notices_s:
                    self._first_noticed_s = now_s
                self._noticed_s = now_s
        self._there, self._leaving = there, leaving

    def is_settled(self, now_s: float, *, must_leave: bool) -> bool:
        """Whether the machines are known well enough: to leave some of them, or for a gain."""
        if must_leave:
            # The first one's deadline does not wait until the last one has come.
            has_waited = now_s - self._first_noticed_s >= _LONGEST_S
            return has_waited or now_s - self._noticed_s >= self._notices_s
        return now_s - self._changed_s >= self._machines_s


@dataclass(frozen=True, eq=False)
class Underway:
    """A decision that is being carried out; `leaving`: the machines that it knew to leave."""

    wanted: Reconfiguration
    turn: Turn
    leaving: Set[int]

    def overlooks(self, leaving: Set[int], executors: Set[int]) -> bool:
        """Whether machines leave that it leads to, or does not lead away from.

        `executors`: the machines that have one now.
        """
        plan = self.turn.decision.plan
        operations = [] if plan is None else plan.operations
        left = {e.executor for e in operations if isinstance(e, Delete) and e.role is None}
        goals = {e.destination for e in operations if isinstance(e, Move)}
        goals |= {e.executor for e in operations if isinstance(e, Add)}
        return not (leaving - self.leaving - left).isdisjoint(executors | goals)


def leaving_of(machines: Iterable[CandidateMachine]) -> frozenset[int]:
    """Those that will be taken away."""
    return frozenset(machine.number for machine in machines if machine.is_leaving)
