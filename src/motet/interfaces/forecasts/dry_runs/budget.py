"""The time of the processor that a dry run may take, and its reports of progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from motet.interfaces.forecasts.draws.future import Check, TooMuch

STARTS_S, ALL_S = 6.0, 12.0
"""For the starts where delays are simulated, too, and for both. As long as a user waits."""
_BETWEEN_S = 0.5


def drop_progress(text: str) -> None:
    """A report of progress that has no destination."""
    del text


@dataclass(eq=False)
class DryRunBudget:
    """Seconds of the processor since `begin`; on a busy machine they take longer.
    `report_progress`: is called with what is being simulated, about twice in each of them.
    `clock`: the CPU time of this process, in seconds."""

    starts_s: float = STARTS_S
    all_s: float = ALL_S
    report_progress: Callable[[str], None] = drop_progress
    clock: Callable[[], float] = time.process_time
    _began_s: float = field(init=False, default=0.0)
    _reported_s: float = field(init=False, default=0.0)

    def begin(self) -> None:
        """The time runs from now on; that of a long journal, which has to be read, is not part of
        it."""
        self._began_s = self._reported_s = self.clock()

    def starts(self, doing: str, has_range: Callable[[], bool]) -> Check:
        """Until the time for the starts is over, or all time where they have no range by then: the
        delays take longer, and would not be known either."""
        return self._until(lambda: self.starts_s if has_range() else self.all_s, doing)

    def delays(self, doing: str) -> Check:
        """Until all time is over."""
        return self._until(lambda: self.all_s, doing)

    def _until(self, most_s: Callable[[], float], doing: str) -> Check:
        def check(work: int) -> None:
            del work
            now_s = self.clock()
            if now_s - self._began_s > most_s():
                raise TooMuch
            if now_s - self._reported_s >= _BETWEEN_S:
                self._report(doing, now_s)

        if (now_s := self.clock()) - self._began_s <= most_s():
            self._report(doing, now_s)
        return check

    def _report(self, doing: str, now_s: float) -> None:
        self._reported_s, spent_s = now_s, int(now_s - self._began_s)
        self.report_progress(f"{doing}, {spent_s} s of at most {self.all_s:g} s of the processor")
