"""Where operations lead, and which are refused."""

from __future__ import annotations

from collections import Counter

import pytest

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Plan, Switch
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.plan_effects import layout_after_plan, require_another
from motet.runtime.elastic.role_placement import RolePlacement

LAYOUT = JobLayout.even(RolePlacement((0, 1), (3, 4)), model_blocks=16, data_blocks=12)


def after(*operations: Operation) -> JobLayout:
    return layout_after_plan(LAYOUT, Plan.of(operations), range(5))


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
def test_an_impossible_operation_is_refused_with_its_reason(
    operation: Operation, message: str
) -> None:
    with pytest.raises(BadInput, match=rf"operation 1 \(.*\): {message}"):
        after(operation)


def test_machines_that_are_not_numbered_without_gaps_are_listed() -> None:
    with pytest.raises(BadInput, match="the job may use 0, 1, 7"):
        layout_after_plan(LAYOUT, Plan.of([Add(9, "worker")]), [0, 1, 7])


def test_the_last_worker_stays() -> None:
    with pytest.raises(BadInput, match=r"operation 2 .*executor 1 is the only worker; add another"):
        after(Delete(0), Delete(1))


def test_only_the_only_holder_of_a_role_needs_another_one() -> None:
    require_another(LAYOUT, 0, "worker")
    with pytest.raises(BadInput, match="executor 3 is the only server"):
        require_another(LAYOUT.without_role(4, "server"), 3, "server")


def test_blocks_of_a_deleted_executor_are_spread_evenly() -> None:
    with_another = after(Add(2, "server"), Delete(3))
    assert Counter(with_another.model.owners.tolist()) == {2: 8, 4: 8}
    with_one_left = after(Delete(0))
    assert with_one_left.workers == (1,)
    assert Counter(with_one_left.data.owners.tolist()) == {1: 12}


def test_a_switched_executor_has_the_new_role_only() -> None:
    switched = after(Switch(1, "server"))
    assert (switched.workers, switched.servers) == ((0,), (1, 3, 4))
    assert switched.data.blocks_of(1) == []


def test_moved_blocks_belong_to_their_destination() -> None:
    moved = after(Move("model", (0, 1), 3, 4))
    assert moved.model.blocks_of(3) == [2, 3, 4, 5, 6, 7]
    assert moved.data is LAYOUT.data
