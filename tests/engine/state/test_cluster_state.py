"""What the engine knows keeps the columns of policy and driver apart."""

from __future__ import annotations

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement, Queues
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


def running_since(since_us: int | None, heard_us: int) -> ClusterState:
    """A job with two GPUs since 10, whose processes run since then, as the state hears later."""
    state = state_of({})
    state.advance(10)
    state.submitted({"number": 3, "gpus": 2})
    state.started(3, Placement((0,), (2,)), 2, 0)
    state.advance(heard_us)
    state.begun(3, since_us)
    return state


@pytest.mark.parametrize(("since_us", "executed_us"), [(None, 0), (40, 60), (5, 90), (500, 0)])
def test_a_job_attains_service_since_its_processes_run_however_late_that_is_reported(
    since_us: int | None, executed_us: int
) -> None:
    row = running_since(since_us, heard_us=100).table.row(3)
    waited_us = 90 - executed_us
    assert (row["executed_us"], row["attained_gpu_us"]) == (executed_us, 2 * executed_us)
    assert (row["waiting_us"], row["waited_runs_us"]) == (waited_us, waited_us)


@pytest.mark.parametrize(
    ("until_us", "executed_us"), [(None, 160), (150, 110), (20, 0), (900, 160)]
)
def test_a_job_attains_none_after_its_processes_have_ended(
    until_us: int | None, executed_us: int
) -> None:
    state = running_since(40, heard_us=100)
    state.advance(200)
    state.ran_until(3, until_us)
    row = state.table.row(3)
    assert (row["executed_us"], row["attained_gpu_us"]) == (executed_us, 2 * executed_us)
    assert row["executed_us"] + row["waiting_us"] == 190


def test_a_job_loses_no_service_of_the_gpus_that_it_held_before_a_resize() -> None:
    state = running_since(40, heard_us=100)
    state.advance(190)
    state.started(3, Placement((0,), (4,)), 4, 0, runs=True)
    state.advance(200)
    state.ran_until(3, 150)
    row = state.table.row(3)
    assert (row["executed_us"], row["attained_gpu_us"]) == (150, 2 * 150)
