"""Plans that wait for their time or for the plans before them, and their states."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from motet.domain.reconfiguration import Plan
from motet.runtime.core.reporting.reports import ReconfigurationReport
from motet.runtime.elastic.layout import JobLayout

PlanMaker: TypeAlias = Callable[[JobLayout], Plan]
PlanState: TypeAlias = Literal["waiting", "running", "done", "cancelled", "failed"]


@dataclass(frozen=True)
class TimedPlan:
    """A plan for later: once `at_epoch` epochs are done, or `at_s` seconds into training.

    `make_plan` is called then, with the layout of that time.
    """

    make_plan: PlanMaker
    at_epoch: int | None = None
    at_s: float | None = None
    predicted_gain: float | None = None


class Reconfiguration:
    """A plan that waits, runs or has ended; may be used from any thread.

    `finished`: numbers of completed operations; `report`: the one that observers get at its end;
    `is_planned`: it comes from the job's timetable.
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
        self._state: PlanState = "waiting"
        self._has_ended = threading.Event()

    @property
    def state(self) -> PlanState:
        """Whether it waits, runs or has ended, and how it ended."""
        return self._state

    @property
    def progress(self) -> tuple[int, int]:
        """Completed operations, and all of them (0 before it begins)."""
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
        """Begin no further operation; running ones are completed."""
        self._is_cancelled = True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block until it has ended, in whatever state; False after the timeout."""
        return self._has_ended.wait(timeout_s)

    def enter(self, state: PlanState) -> None:
        """Set the state; called by the plan runner."""
        self._state = state
        if state in ("done", "cancelled", "failed"):
            self._has_ended.set()


class PlanQueue:
    """A job's reconfigurations, one after another."""

    def __init__(self, timetable: tuple[TimedPlan, ...] = ()) -> None:
        self._changed = threading.Condition()
        self._began_s = math.inf
        self._timetable = list(timetable)
        self._waiting: list[Reconfiguration] = []
        self._is_closed = False
        self._missed = 0

    @property
    def missed(self) -> int:
        """Plans of the timetable that had not begun when training ended."""
        return self._missed

    def put(self, wanted: Reconfiguration) -> None:
        """Add a plan behind all that wait."""
        self._insert(len(self._waiting), wanted)

    def put_first(self, wanted: Reconfiguration) -> None:
        """Add a plan before all that wait: it is urgent, or it was cut off."""
        self._insert(0, wanted)

    def start_clock(self) -> None:
        """Training begins now; further calls have no effect."""
        self._began_s = min(self._began_s, time.monotonic())
        self.wake()

    def epochs_done(self, count: int) -> None:
        """So many epochs are done: release the plans for this time."""
        self._release(lambda timed: timed.at_epoch is not None and timed.at_epoch <= count)

    def take(self, is_over: Callable[[], bool]) -> Reconfiguration | None:
        """Block until there is a plan, or until `is_over` (then None; call `wake` to check it)."""
        while not is_over():
            self._release(self._has_come)
            with self._changed:
                if self._waiting:
                    return self._waiting.pop(0)
                self._changed.wait_for(lambda: self._waiting or is_over(), self._next_due_s())
        return None

    def wake(self) -> None:
        """The result of `is_over` may have changed."""
        with self._changed:
            self._changed.notify_all()

    def cancel_all(self) -> None:
        """Training is over: cancel waiting plans and those that are added later."""
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

    def _has_come(self, timed: TimedPlan) -> bool:
        return timed.at_s is not None and timed.at_s <= time.monotonic() - self._began_s

    def _release(self, is_due: Callable[[TimedPlan], bool]) -> None:
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
