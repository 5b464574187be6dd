"""The order in which the operations of a plan run, and what ends it early."""

from __future__ import annotations

import threading

import pytest

from motet.domain.reconfiguration import Add, Move, Plan, Switch
from motet.runtime.controller.reconfiguration.concurrent_plan import run_plan
from motet.runtime.controller.reconfiguration.plan_queue import Reconfiguration


def test_independent_operations_run_at_the_same_time() -> None:
    plan = Plan.of([Move("model", (0,), 3, 4), Move("data", (0,), 0, 1), Switch(0, "server")])
    together = threading.Barrier(2)
    done: list[int] = []

    def operate(plan: Plan, number: int) -> None:
        if number < 2:
            together.wait(timeout=100)
        done.append(number)

    wanted = Reconfiguration(lambda layout: plan)
    run_plan(wanted, plan, operate, lambda: False)
    assert done.index(2) > done.index(1)
    assert wanted.finished == {0, 1, 2}


def test_a_cancelled_plan_begins_nothing_more_and_ends_what_runs() -> None:
    plan = Plan.of([Add(2, "worker"), Move("data", (0,), 0, 2), Move("data", (2,), 0, 2)])
    wanted = Reconfiguration(lambda layout: plan)
    run_plan(wanted, plan, lambda plan, number: wanted.cancel(), lambda: False)
    assert wanted.finished == {0}


def test_after_an_error_nothing_more_begins() -> None:
    plan = Plan.of([Add(2, "worker"), Move("data", (0,), 0, 2)])
    wanted = Reconfiguration(lambda layout: plan)

    def fail(plan: Plan, number: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_plan(wanted, plan, fail, lambda: False)
    assert wanted.finished == set()
