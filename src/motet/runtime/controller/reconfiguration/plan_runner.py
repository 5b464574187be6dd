"""Carries a job's plans out during one generation, on a thread beside the epoch loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Plan
from motet.runtime.controller.reconfiguration.cost import Cost
from motet.runtime.controller.reconfiguration.operations import CannotLaunch, Operations
from motet.runtime.core.reports import ReconfigurationReport
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan_effects import layout_after_plan
from motet.runtime.elastic.plan_queue import PlanQueue, Reconfiguration

_AT_ONCE = 8
_CLOSE_TIMEOUT_S = 200.0


class PlanRunner:
    """One generation's; a plan that it cannot finish goes back to the queue for the next one."""

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

        `on_report` is called on this one's thread. `on_lost` is told why the generation cannot go
        on.
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
        """Take no more; the generation's connections must be closed by now."""
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
        error = self._plan(wanted, layout)
        try:
            if wanted.plan is not None:
                run_plan(wanted, wanted.plan, self._operate(costs), lambda: self._is_closing)
        except (BadInput, CannotLaunch) as failure:
            error = str(failure)
        except Exception as lost:
            self._cut_off(wanted, lost)
            return
        report = ReconfigurationReport(
            at_epoch=at_epoch,
            before=layout.counts,
            after=self._operations.layout.counts,
            operations=len(wanted.finished),
            predicted_gain=wanted.predicted_gain,
            plan_s=time.perf_counter() - began_s,
            moved_bytes=sum(cost.moved_bytes for cost in costs),
            stall_s=max((cost.stall_s for cost in costs), default=0.0),
            error=error,
        )
        if self._end(wanted, report):
            self._on_report(report)

    def _plan(self, wanted: Reconfiguration, layout: Layout) -> str:
        """Have the plan made, unless it was; what is wrong with it, if anything."""
        if wanted.plan is not None:
            return ""
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
        """What ended halfway is only made good by going back to the checkpoint."""
        wanted.enter("waiting")
        self._queue.put_first(wanted)
        if not self._is_closing:
            self._is_closing = True
            self._on_lost(f"a reconfiguration was cut off: {type(cause).__name__}: {cause}")

    def _end(self, wanted: Reconfiguration, report: ReconfigurationReport) -> bool:
        """Whether it is over; otherwise the next generation goes on with it."""
        done, total = wanted.progress
        if not (report.error or done == total or wanted.is_cancelled):
            wanted.enter("waiting")
            self._queue.put_first(wanted)
            return False
        wanted.report = report
        wanted.enter("failed" if report.error else "done" if done == total else "cancelled")
        return True

    def _operate(self, costs: list[Cost]) -> Callable[[Plan, int], None]:
        def operate(plan: Plan, number: int) -> None:
            costs.append(self._operations.carry_out(plan.operations[number]))

        return operate


def run_plan(
    wanted: Reconfiguration,
    plan: Plan,
    operate: Callable[[Plan, int], None],
    is_closing: Callable[[], bool],
) -> None:
    """Run operations as soon as those that they wait for are done; the worst error is raised.

    After an error or a cancellation nothing new begins, and what runs comes to its end.
    """
    waiting = [i for i in range(len(plan.operations)) if i not in wanted.finished]
    running: dict[Future[None], int] = {}
    failures: list[BaseException] = []
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="motet-operation") as pool:
        while True:
            if not (failures or wanted.is_cancelled or is_closing()):
                ready = [i for i in waiting if wanted.finished.issuperset(plan.after[i])]
                waiting = [i for i in waiting if i not in ready]
                running |= {pool.submit(operate, plan, i): i for i in ready}
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number = running.pop(future)
                error = future.exception()
                if error is None:
                    wanted.finished.add(number)
                else:
                    failures.append(error)
    for failure in sorted(failures, key=lambda error: isinstance(error, BadInput | CannotLaunch)):
        raise failure
