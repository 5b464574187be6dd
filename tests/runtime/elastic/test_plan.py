"""Plans, pure: what may be done, where it leads, what waits for what."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.runtime.controller.reconfiguration.concurrent_plan import run_plan
from motet.runtime.elastic.layout import Layout
from motet.runtime.elastic.plan import Add, Delete, Move, Operation, Plan, Switch, towards
from motet.runtime.elastic.plan_queue import PlanQueue, Reconfiguration, Timed
from motet.runtime.elastic.roles import Roles

LAYOUT = Layout.even(Roles((0, 1), (3, 4)), model_blocks=16, data_blocks=12)


def counts(layout: Layout) -> tuple[dict[int, int], dict[int, int]]:
    """Blocks of every owner: model, data."""
    return tuple(  # type: ignore[return-value]
        dict(zip(*map(np.ndarray.tolist, np.unique(owned.owners, return_counts=True)), strict=True))
        for owned in (layout.model, layout.data)
    )


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Add(0, "worker"), "executor 0 is a worker already"),
        (Add(9, "worker"), "there is no machine 9; the job may use 0 to 4"),
        (Delete(2), r"executor 2 has no role; executors are \[0, 1, 3, 4\]"),
        (Delete(0, "server"), "executor 0 is no server"),
        (Switch(2, "worker"), "executor 2 has no role"),
        (Move("data", (0,), 0, 3), "executor 3 is no worker; add it first"),
        (Move("model", (99,), 3, 4), "there is no model block 99; they are 0 to 15"),
        (Move("model", (0,), 4, 3), "model block 0 is at executor 3, not at 4"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_in_words(operation: Operation, message: str) -> None:
    with pytest.raises(BadInput, match=rf"operation 1 \(.*\): {message}"):
        Plan.of([operation]).checked(LAYOUT, range(5))


def test_the_last_worker_stays() -> None:
    with pytest.raises(BadInput, match=r"operation 2 .*executor 1 is the only worker; add another"):
        Plan.of([Delete(0), Delete(1)]).checked(LAYOUT, range(5))


def test_blocks_of_who_leaves_are_spread_evenly() -> None:
    after = Plan.of([Add(2, "server"), Delete(3)]).checked(LAYOUT, range(5))
    assert counts(after)[0] == {2: 8, 4: 8}
    after = Plan.of([Delete(0)]).checked(LAYOUT, range(5))
    assert (after.workers, counts(after)[1]) == ((1,), {1: 12})


@settings(max_examples=200, deadline=None)
@given(
    start=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    workers=st.integers(1, 6),
    servers=st.integers(1, 6),
)
def test_a_plan_towards_counts_leads_there_with_even_shares(
    start: tuple[int, int], workers: int, servers: int
) -> None:
    layout = Layout.even(Roles.spread(6, *start), model_blocks=16, data_blocks=12)
    after = towards(layout, workers, servers, range(6)).checked(layout, range(6))
    assert (len(after.workers), len(after.servers)) == (workers, servers)
    for held, holders in zip(counts(after), (after.servers, after.workers), strict=True):
        assert sorted(held) == sorted(holders)
        assert max(held.values()) - min(held.values()) <= 1


def test_a_plan_for_the_present_counts_is_empty() -> None:
    assert towards(LAYOUT, 2, None, range(5)).operations == ()


def test_growing_moves_only_the_new_share() -> None:
    moves = [o for o in towards(LAYOUT, 3, 2, range(5)).operations if isinstance(o, Move)]
    assert {move.table for move in moves} == {"data"}
    assert sum(len(move.blocks) for move in moves) == 4


def test_a_server_that_is_not_needed_becomes_the_worker_that_is() -> None:
    after = towards(LAYOUT, 4, 1, range(4 + 1)).checked(LAYOUT, range(5))
    assert after.workers == (0, 1, 2, 3)
    assert after.servers == (4,)


def test_operations_wait_for_those_that_touch_the_same_executors() -> None:
    plan = Plan.of(
        [
            Add(2, "worker"),
            Move("data", (0,), 0, 2),
            Move("model", (0,), 3, 4),
            Switch(1, "server"),
            Delete(4),
        ]
    )
    assert plan.after == ((), (0,), (), (0,), (0, 2, 3))


def test_independent_operations_run_at_the_same_time() -> None:
    plan = Plan.of([Move("model", (0,), 3, 4), Move("data", (0,), 0, 1), Switch(0, "server")])
    together = threading.Barrier(2)
    done: list[int] = []

    def operate(plan: Plan, number: int) -> None:
        if number < 2:
            together.wait(timeout=20)
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


def test_plans_come_out_in_their_order_once_their_epoch_is_done() -> None:
    def make(layout: Layout) -> Any:
        raise AssertionError

    queue = PlanQueue((Timed(make, at_epoch=2), Timed(make, at_epoch=3, predicted_gain=0.5)))
    queue.epochs_done(1)
    assert queue.take(lambda: True) is None
    queue.epochs_done(3)
    first = queue.take(lambda: False)
    assert first is not None
    queue.put_first(first)
    assert queue.take(lambda: False) is first
    second = queue.take(lambda: False)
    assert second is not None
    assert second.predicted_gain == 0.5


def test_a_timed_plan_waits_for_the_clock_of_training() -> None:
    queue = PlanQueue((Timed(lambda layout: Plan((), ()), at_s=0.0),))
    asked = iter([False, True, True])
    assert queue.take(lambda: next(asked)) is None
    queue.start_clock()
    assert queue.take(lambda: False) is not None


def test_what_waits_when_training_ends_is_cancelled() -> None:
    queue = PlanQueue()
    wanted = Reconfiguration(lambda layout: Plan((), ()))
    queue.put(wanted)
    queue.cancel_all()
    assert wanted.wait(timeout_s=0)
    assert wanted.state == "cancelled"
