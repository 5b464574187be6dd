"""Plans that wait for their moment, and what became of them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from motet.domain.reconfiguration import Plan
from motet.runtime.core.reports import ReconfigurationReport
from motet.runtime.elastic.layout import Layout

PlanMaker: TypeAlias = Callable[[Layout], Plan]
State: TypeAlias = Literal["waiting", "running", "done", "cancelled", "failed"]


@dataclass(frozen=True)
class Timed:
    """A plan for later: once `at_epoch` epochs are done, or `at_s` seconds into training.

    `make_plan` is asked then, and told the layout of that moment.
    """

    make_plan: PlanMaker
    at_epoch: int | None = None
    at_s: float | None = None
    predicted_gain: float | None = None


class Reconfiguration:
    """A plan under way; all of it may be used from any thread.

    `report`: what an observer is told at its end. `is_planned`: it is of the job's timetable.
    """

    def __init__(
        self,
        make_plan: PlanMaker,
        predicted_gain: float | None = None,
        *,
        is_planned: bool = False,
    ) -> None:
        self.make_plan = make_plan
        self.is_planned = is_planned
        self.predicted_gain = predicted_gain
        self.plan: Plan | None = None
        self.finished: set[int] = set()
        self.report: ReconfigurationReport | None = None
        self._is_cancelled = False
        self._state: State = "waiting"
        self._over = threading.Event()

    @property
    def state(self) -> State:
        """How far it is."""
        return self._state

    @property
    def progress(self) -> tuple[int, int]:
        """Operations done, and all of them (0 before it begins)."""
        return len(self.finished), 0 if self.plan is None else len(self.plan.operations)

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._is_cancelled

    @property
    def is_cut_short(self) -> bool:
        """Whether it ended before all of it was done."""
        return self._state in ("cancelled", "failed")

    def cancel(self) -> None:
        """Begin no further operation; those that run are brought to their end."""
        self._is_cancelled = True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until nothing of it runs any more, whatever became of it; False after the timeout."""
        return self._over.wait(timeout_s)

    def enter(self, state: State) -> None:
        """For who carries it out."""
        self._state = state
        if state in ("done", "cancelled", "failed"):
            self._over.set()


class PlanQueue:
    """A job's reconfigurations, one after another."""

    def __init__(self, timetable: tuple[Timed, ...] = ()) -> None:
        self._changed = threading.Condition()
        self._began_s = math.inf
        self._timetable = list(timetable)
        self._waiting: list[Reconfiguration] = []
        self._is_closed = False
        self._missed = 0

    @property
    def missed(self) -> int:
        """How many plans of the timetable had not begun when training ended."""
        return self._missed

    def put(self, wanted: Reconfiguration) -> None:
        """Carry this out when those before it are over."""
        self._insert(len(self._waiting), wanted)

    def put_first(self, wanted: Reconfiguration) -> None:
        """Before all others that wait: it is urgent, or it was cut off."""
        self._insert(0, wanted)

    def start_clock(self) -> None:
        """Training begins now; a second call changes nothing."""
        self._began_s = min(self._began_s, time.monotonic())
        self.wake()

    def epochs_done(self, count: int) -> None:
        """Time for the plans of this epoch."""
        self._release(lambda timed: timed.at_epoch is not None and timed.at_epoch <= count)

    def take(self, is_over: Callable[[], bool]) -> Reconfiguration | None:
        """The next one, waited for; None once `is_over` (tell by `wake`)."""
        while not is_over():
            self._release(self._has_come)
            with self._changed:
                if self._waiting:
                    return self._waiting.pop(0)
                self._changed.wait_for(lambda: self._waiting or is_over(), self._next_due_s())
        return None

    def wake(self) -> None:
        """Something that `take` asks for has changed."""
        with self._changed:
            self._changed.notify_all()

    def cancel_all(self) -> None:
        """Training is over, also for those that come later."""
        with self._changed:
            self._is_closed = True
            self._missed = len(self._timetable) + sum(it.is_planned for it in self._waiting)
            for wanted in self._waiting:
                wanted.enter("cancelled")
            self._waiting.clear()

    def _insert(self, place: int, wanted: Reconfiguration) -> None:
        with self._changed:
            if self._is_closed:
                wanted.enter("cancelled")
                return
            self._waiting.insert(place, wanted)
            self._changed.notify_all()

    def _has_come(self, timed: Timed) -> bool:
        return timed.at_s is not None and timed.at_s <= time.monotonic() - self._began_s

    def _release(self, is_due: Callable[[Timed], bool]) -> None:
        with self._changed:
            due = [timed for timed in self._timetable if is_due(timed)]
            self._timetable = [timed for timed in self._timetable if timed not in due]
            self._waiting += [
                Reconfiguration(timed.make_plan, timed.predicted_gain, is_planned=True)
                for timed in due
            ]
            if due:
                self._changed.notify_all()

    def _next_due_s(self) -> float | None:
        times = [timed.at_s for timed in self._timetable if timed.at_s is not None]
        if not times or math.isinf(self._began_s):
            return None
        return max(min(times) - time.monotonic() + self._began_s, 0.0)
