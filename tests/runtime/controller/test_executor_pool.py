"""A layout in, starts and ends of executors out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import pytest

from motet.domain.errors import JobFailed
from motet.runtime.controller.executor_pool import ExecutorPool, pool_change
from motet.runtime.controller.ports import (
    ExecutorHandle,
    LaunchGivenUp,
    LaunchRequest,
    MachineGone,
)
from motet.runtime.core.machine import Machine
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.role_placement import RolePlacement
from scripted_executors import ScriptedExecutor
from toy_app import ToyRegression

LAYOUT = JobLayout.even(RolePlacement((0, 1), (2,)), 8, 8)
APP = ToyRegression()


def machines(*conditions: Literal["up", "leaving", "gone"]) -> list[Machine]:
    return [Machine(n, f"m{n}", condition=condition) for n, condition in enumerate(conditions)]


class ScriptedCluster:
    """Machines and executors that follow a script; `log` says what was done, in order."""

    machine_count = 4
    host = "127.0.0.1"

    def __init__(self) -> None:
        self.log: list[object] = []
        self.now = machines("up", "up", "up", "up")
        self.before_launch: Callable[[LaunchRequest], None] = lambda request: None
        self.executors: list[ScriptedExecutor] = []

    def machines(self) -> Sequence[Machine]:
        return tuple(self.now)

    def launch(self, request: LaunchRequest) -> Mapping[int, ExecutorHandle]:
        self.log.append(("launch", request.machines))
        self.before_launch(request)
        made = {number: ScriptedExecutor(number) for number in request.machines}
        self.executors += made.values()
        return made

    def set(self, number: int, condition: Literal["up", "leaving", "gone"]) -> None:
        self.now[number] = replace(self.now[number], condition=condition)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    made = ScriptedCluster()
    yield made
    for executor in made.executors:
        executor.kill()


def pool_on(cluster: ScriptedCluster) -> ExecutorPool:
    return ExecutorPool(cluster, "a job", b"s" * 32, APP, cluster.log.append)


def test_executors_without_a_role_are_surplus_and_roles_without_one_are_missing() -> None:
    change = pool_change(LAYOUT, {1, 3}, machines("up", "up", "up", "up"))
    assert change.layout is LAYOUT
    assert (change.left, change.surplus, change.missing) == ((), (3,), (0, 2))


def test_a_machine_that_is_not_up_is_left_to_a_spare() -> None:
    change = pool_change(LAYOUT, {0, 1, 2}, machines("up", "gone", "up", "up"))
    assert change.layout.executors == [0, 2, 3]
    assert (change.left, change.surplus, change.missing) == ((1,), (1,), (3,))


def test_no_change_is_possible_without_machines() -> None:
    with pytest.raises(JobFailed, match="no machine is left"):
        pool_change(LAYOUT, (), machines("gone", "leaving", "gone"))


def test_missing_executors_are_started_together(cluster: ScriptedCluster) -> None:
    pool = pool_on(cluster)
    assert pool.reconcile(LAYOUT) is LAYOUT
    said = "starting 3 executors (the first run on a machine compiles kernels)"
    assert cluster.log == [said, ("launch", (0, 1, 2))]
    assert sorted(pool.handles) == [0, 1, 2]


def test_a_pool_that_fits_is_left_as_it_is(cluster: ScriptedCluster) -> None:
    pool = pool_on(cluster)
    pool.reconcile(LAYOUT)
    cluster.log.clear()
    pool.reconcile(LAYOUT)
    assert cluster.log == []


def test_an_executor_on_a_machine_that_leaves_is_ended_and_its_place_filled(
    cluster: ScriptedCluster,
) -> None:
    pool = pool_on(cluster)
    pool.reconcile(LAYOUT)
    old = pool.handles[1]
    cluster.log.clear()
    cluster.set(1, "leaving")
    assert pool.reconcile(LAYOUT).executors == [0, 2, 3]
    assert cluster.log == ["going on without m1", "starting 1 executor", ("launch", (3,))]
    assert isinstance(old, ScriptedExecutor)
    assert old.is_dead


def test_a_machine_that_goes_while_executors_start_is_replaced(cluster: ScriptedCluster) -> None:
    def lose_one(request: LaunchRequest) -> None:
        cluster.set(0, "gone")
        cluster.before_launch = lambda request: None
        raise MachineGone("m0 is gone")

    cluster.before_launch = lose_one
    assert pool_on(cluster).reconcile(LAYOUT).executors == [1, 2, 3]
    assert [it for it in cluster.log if isinstance(it, tuple)] == [
        ("launch", (0, 1, 2)),
        ("launch", (1, 2, 3)),
    ]


def test_a_launch_that_is_given_up_ends_reconciling(cluster: ScriptedCluster) -> None:
    def give_up(request: LaunchRequest) -> None:
        assert request.is_given_up()
        raise LaunchGivenUp

    cluster.before_launch = give_up
    with pytest.raises(LaunchGivenUp):
        pool_on(cluster).reconcile(LAYOUT, lambda: True)


def test_a_launch_names_the_job_its_secret_and_its_application(cluster: ScriptedCluster) -> None:
    seen: list[LaunchRequest] = []
    cluster.before_launch = seen.append
    pool = pool_on(cluster)
    assert pool.launch_one(3).number == 3
    assert (seen[0].job, seen[0].secret, seen[0].app) == ("a job", b"s" * 32, APP)
    assert not seen[0].is_given_up()


def test_executors_that_do_not_answer_are_removed(cluster: ScriptedCluster) -> None:
    pool = pool_on(cluster)
    pool.reconcile(LAYOUT)
    pool.handles[2].kill()
    pool.retire_unresponsive()
    assert sorted(pool.handles) == [0, 1]


def test_a_closed_pool_has_ended_all(cluster: ScriptedCluster) -> None:
    pool = pool_on(cluster)
    pool.reconcile(LAYOUT)
    pool.close()
    assert all(executor.is_dead for executor in cluster.executors)
