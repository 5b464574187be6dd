"""Plans as values: which operations wait for which."""

from __future__ import annotations

import pytest

from motet.domain.reconfiguration import Add, Delete, Move, Plan, Switch, holder_role


def test_operations_wait_for_earlier_ones_that_touch_the_same_executors() -> None:
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


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (((),), "one entry per operation"),
        (((), (1,)), "wait for operations before it"),
        (((), (-1,)), "wait for operations before it"),
    ],
)
def test_an_order_that_is_no_dag_is_refused(
    after: tuple[tuple[int, ...], ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Plan((Add(0, "worker"), Delete(1)), after)


def test_only_a_plan_without_operations_is_empty() -> None:
    assert Plan.of([]).is_empty
    assert not Plan.of([Delete(1)]).is_empty


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (Add(2, "worker"), "add worker 2"),
        (Delete(2), "delete executor 2"),
        (Delete(2, "server"), "delete server 2"),
        (Switch(2, "server"), "switch 2 to server"),
        (Move("data", (3, 5), 0, 1), "move 2 data block(s) from 0 to 1"),
    ],
    ids=str,
)
def test_an_operation_is_named_in_messages(operation: object, text: str) -> None:
    assert str(operation) == text


def test_workers_hold_data_and_servers_hold_the_model() -> None:
    assert (holder_role("data"), holder_role("model")) == ("worker", "server")
