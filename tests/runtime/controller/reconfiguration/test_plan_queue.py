"""When plans come out of the queue, and what becomes of those that do not."""

from __future__ import annotations

import threading
from typing import Any

from motet.domain.reconfiguration import Add, Delete, Plan
from motet.runtime.controller.reconfiguration.plan_queue import (
    PlanQueue,
    Reconfiguration,
    TimedPlan,
)
from motet.runtime.elastic.layout import JobLayout


def never(layout: JobLayout) -> Any:
    raise AssertionError("no plan is made here")


def empty_plan(layout: JobLayout) -> Plan:
    return Plan((), ())


def test_plans_come_out_in_their_order_once_their_epoch_is_done() -> None:
    queue = PlanQueue(
        (TimedPlan(never, at_epoch=2), TimedPlan(never, at_epoch=3, predicted_gain=0.5))
    )
    queue.epochs_done(1)
    assert queue.take(lambda: True) is None
    queue.epochs_done(3)
    first = queue.take(lambda: False)
    assert first is not None
    queue.put_first(first)
    assert queue.take(lambda: False) is first
    second = queue.take(lambda: False)
    assert second is not None
    assert (second.predicted_gain, second.is_planned) == (0.5, True)


def test_a_timed_plan_waits_for_the_clock_of_training() -> None:
    queue = PlanQueue((TimedPlan(empty_plan, at_s=0.0),))
    is_over = iter([False, True, True])
    assert queue.take(lambda: next(is_over)) is None
    queue.start_clock()
    assert queue.take(lambda: False) is not None


def test_a_timed_plan_comes_out_when_its_time_has_come() -> None:
    queue = PlanQueue((TimedPlan(empty_plan, at_s=0.05),))
    queue.start_clock()
    taken: list[Reconfiguration | None] = []
    taking = threading.Thread(target=lambda: taken.append(queue.take(lambda: False)), daemon=True)
    taking.start()
    taking.join(timeout=300)
    assert [isinstance(each, Reconfiguration) for each in taken] == [True]


def test_an_urgent_plan_overtakes_those_that_wait() -> None:
    queue = PlanQueue()
    ordinary, urgent = Reconfiguration(never), Reconfiguration(never)
    queue.put(ordinary)
    queue.put_first(urgent)
    assert [queue.take(lambda: False), queue.take(lambda: False)] == [urgent, ordinary]


def test_what_waits_when_training_ends_is_cancelled() -> None:
    queue = PlanQueue()
    wanted = Reconfiguration(empty_plan)
    queue.put(wanted)
    queue.cancel_all()
    assert wanted.wait(timeout_s=0)
    assert wanted.state == "cancelled"


def test_what_comes_after_the_end_of_training_is_cancelled_too() -> None:
    queue = PlanQueue()
    queue.cancel_all()
    wanted = Reconfiguration(never)
    queue.put(wanted)
    assert (wanted.state, wanted.is_cut_short) == ("cancelled", True)


def test_plans_of_the_timetable_that_never_began_are_counted() -> None:
    queue = PlanQueue((TimedPlan(never, at_epoch=1), TimedPlan(never, at_epoch=9)))
    queue.put(Reconfiguration(never))
    queue.epochs_done(1)
    queue.cancel_all()
    assert queue.missed == 2


def test_progress_counts_the_operations_of_the_plan() -> None:
    wanted = Reconfiguration(never)
    assert wanted.progress == (0, 0)
    wanted.plan = Plan.of([Add(1, "worker"), Delete(2)])
    wanted.finished.add(0)
    assert wanted.progress == (1, 2)
    assert not wanted.wait(timeout_s=0)
    wanted.enter("done")
    assert wanted.wait(timeout_s=0)
    assert not wanted.is_cut_short
