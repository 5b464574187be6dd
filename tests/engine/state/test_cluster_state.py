"""What the engine knows keeps the columns of policy and driver apart."""

from __future__ import annotations

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.snapshot import Queues
from motet.engine.state.cluster_state import ClusterState


@pytest.mark.parametrize("name", ["gpus", "work_us"])
def test_a_policy_cannot_take_a_column_that_is_there(name: str) -> None:
    with pytest.raises(BadInput, match=f"memory_columns names '{name}', which is already a column"):
        ClusterState(ClusterSpec.uniform(1, 1), {"seen": 0, name: 0}, {"work_us": 0}, Queues())


def state_of(memory: dict[str, int]) -> ClusterState:
    return ClusterState(ClusterSpec.uniform(1, 4), memory, {"work_us": 7}, Queues())


def with_a_suspended_job(memory: dict[str, int]) -> ClusterState:
    state = state_of(memory)
    state.advance(5)
    state.submitted({"number": 3, "gpus": 2, "work_us": 9, **dict.fromkeys(memory, 1)})
    state.suspend(3)
    return state


def test_a_suspended_job_is_resumed_under_another_policy_than_before_the_capture() -> None:
    state = state_of({"seen": 4, "rank": 6})
    state.restore(with_a_suspended_job({"level": 0, "seen": 0}).capture())
    state.resume(3)
    row = state.table.row(3)
    assert "level" not in row
    assert (row["gpus"], row["work_us"], row["seen"], row["rank"]) == (2, 9, 1, 6)


def test_a_suspended_job_has_new_memory_after_a_change_of_the_policy() -> None:
    state = with_a_suspended_job({"level": 0, "seen": 0})
    state.change_memory({"seen": 4, "rank": 6})
    state.resume(3)
    row = state.table.row(3)
    assert "level" not in row
    assert (row["gpus"], row["work_us"], row["seen"], row["rank"]) == (2, 9, 4, 6)


@pytest.mark.parametrize("name", ["gpus", "work_us"])
def test_a_later_policy_cannot_take_a_column_that_is_there(name: str) -> None:
    state = with_a_suspended_job({"seen": 0})
    with pytest.raises(BadInput, match=f"memory_columns names '{name}', which is already a column"):
        state.change_memory({name: 0})
    assert state.table.columns()["seen"].tolist() == []


def test_a_state_in_use_is_not_restored() -> None:
    used, captured = with_a_suspended_job({}), with_a_suspended_job({}).capture()
    with pytest.raises(BadInput, match="restored into a new state; this one is in use already"):
        used.restore(captured)
