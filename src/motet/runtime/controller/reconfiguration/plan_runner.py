"""Carries a job's plans out during one generation, on a thread beside the epoch loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Plan
from motet.runtime.controller.reconfiguration.concurrent_plan import run_plan
from motet.runtime.controller.reconfiguration.cost import Cost, total_cost
from motet.runtime.controller.reconfiguration.operations import CannotLaunch, Operations
from motet.runtime.controller.reconfiguration.plan_queue import PlanQueue, Reconfiguration
from motet.runtime.core.reporting.reports import ReconfigurationReport
from motet.runtime.elastic.plan_effects import layout_after_plan

_CLOSE_TIMEOUT_S = 200.0


class PlanRunner:
    """Runs the plans of one generation; an unfinished plan goes back to the queue for the next."""

    def __init__(
        self,
        operations: Operations,
        queue: PlanQueue,
        machines: Callable[[], Collection[int]],
        epoch_count: Callable[[], int],
        on_report: Callable[[ReconfigurationReport], None],
        on_lost: Callable[[str], None],
    ) -> None:
        """`machines`: those that may be given a role now. `epoch_count`: how many are done.

        `on_report` is called on the runner's thread. `on_lost(cause)` is called when the generation
        cannot go on.
        """
        self._on_lost = on_lost
        self._operations = operations
        self._queue = queue
        self._machines = machines
        self._epoch_count = epoch_count
        self._on_report = on_report
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="motet-plan-runner", daemon=True)

    def start(self) -> None:
        """Begin to take plans from the queue."""
        self._thread.start()

    def close(self) -> None:
        """Wait for the thread to end; the generation's connections must be closed before."""
        self._is_closing = True
        self._queue.wake()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_TIMEOUT_S)

    def stop_taking(self) -> None:
        """Begin no further operation."""
        self._is_closing = True
        self._queue.wake()

    def _run(self) -> None:
        while (wanted := self._queue.take(lambda: self._is_closing)) is not None:
            self._carry_out(wanted)

    def _carry_out(self, wanted: Reconfiguration) -> None:
        layout, at_epoch = self._operations.layout, self._epoch_count()
        began_s = time.perf_counter()
        wanted.enter("running")
        costs: list[Cost] = []
        try:
            error = self._attempt(wanted, costs)
        except Exception as lost:
            self._cut_off(wanted, lost)
            return
        total = total_cost(costs)
        report = ReconfigurationReport(
            at_epoch=at_epoch,
            before=layout.counts,
            after=self._operations.layout.counts,
            operations=len(wanted.finished),
            predicted_gain=wanted.predicted_gain,
            plan_s=time.perf_counter() - began_s,
            moved_bytes=total.moved_bytes,
            stall_s=total.stall_s,
            error=error,
        )
        if self._end(wanted, report):
            self._on_report(report)

    def _attempt(self, wanted: Reconfiguration, costs: list[Cost]) -> str:
        """Make and run a plan; returns the error that ended it early, if any.

        Raises what loses the generation.
        """
        error = self._plan(wanted)
        if wanted.plan is None:
            return error

        def operate(plan: Plan, number: int) -> None:
            costs.append(self._operations.carry_out(plan.operations[number]))

        try:
            run_plan(wanted, wanted.plan, operate, lambda: self._is_closing)
        except (BadInput, CannotLaunch) as failure:
            return str(failure)
        return ""

    def _plan(self, wanted: Reconfiguration) -> str:
        """Make the plan, unless it was made; returns the error that prevents it, if any."""
        if wanted.plan is not None:
            return ""
        layout = self._operations.layout
        try:
            plan = wanted.make_plan(layout)
            layout_after_plan(layout, plan, self._machines())
        except BadInput as error:
            return str(error)
        except Exception as error:
            return f"the planner failed: {type(error).__name__}: {error}"
        wanted.plan = plan
        return ""

    def _cut_off(self, wanted: Reconfiguration, cause: Exception) -> None:
        """An operation that ended halfway is undone only by going back to the checkpoint."""
        wanted.enter("waiting")
        self._queue.put_first(wanted)
        if not self._is_closing:
            self._is_closing = True
            self._on_lost(f"a reconfiguration was cut off: {type(cause).__name__}: {cause}")

    def _end(self, wanted: Reconfiguration, report: ReconfigurationReport) -> bool:
        """Whether the plan is over; otherwise the next generation continues it."""
        done, total = wanted.progress
        if not (report.error or done == total or wanted.is_cancelled):
            wanted.enter("waiting")
            self._queue.put_first(wanted)
            return False
        wanted.report = report
        wanted.enter("failed" if report.error else "done" if done == total else "cancelled")
        return True
