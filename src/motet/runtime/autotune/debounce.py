"""Debounce of machines that come and go: decisions wait until the set of machines is stable. Pure.

Machines usually appear, and are reclaimed, several at a time, but are reported one by one. A
decision at the first report would lead the job through configurations that it leaves at once, and
drain the last machine too late.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from motet.cruise.calibration.machine_groups import CandidateMachine

# A notice has a deadline, so its pause is the shorter one.
_NOTICES_S = 2.0
_MACHINES_S = 3.0
_LONGEST_S = 10.0


class MachineDebounce:
    """The time since the machines last changed; those of the first check count as stable."""

    def __init__(self, notices_s: float = _NOTICES_S, machines_s: float = _MACHINES_S) -> None:
        """`notices_s`: least time without a further notice; `machines_s`: without any change."""
        self._notices_s = notices_s
        self._machines_s = machines_s
        self._present: frozenset[int] | None = None
        self._leaving: frozenset[int] = frozenset()
        self._last_notice_s = self._first_notice_s = -math.inf
        self._last_change_s = -math.inf

    def observe(self, machines: Iterable[CandidateMachine], now_s: float) -> None:
        """The present machines, those that leave among them."""
        listed = list(machines)
        present, leaving = frozenset(each.number for each in listed), leaving_machines(listed)
        if self._present is not None and (present, leaving) != (self._present, self._leaving):
            self._last_change_s = now_s
            if not leaving <= self._leaving:
                if now_s - self._last_notice_s >= self._notices_s:
                    self._first_notice_s = now_s
                self._last_notice_s = now_s
        self._present, self._leaving = present, leaving

    def is_stable(self, now_s: float, *, must_leave: bool) -> bool:
        """Whether to decide now: about leaving machines (`must_leave`), or about a gain."""
        if must_leave:
            # The deadline of the first notice of a series limits the wait for the last one.
            has_waited = now_s - self._first_notice_s >= _LONGEST_S
            return has_waited or now_s - self._last_notice_s >= self._notices_s
        return now_s - self._last_change_s >= self._machines_s


def leaving_machines(machines: Iterable[CandidateMachine]) -> frozenset[int]:
    """The machines that will be taken away."""
    return frozenset(machine.number for machine in machines if machine.is_leaving)
