"""Replicas are on another machine than their tensors, wherever there is one."""

from __future__ import annotations

import pytest

from aggregator_world import MS, AggregatorWorld
from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.master.state.savepoint import restored, saved
from motet.aggregation.planner.clusters import ScalingRules

SETTINGS = MasterSettings(ScalingRules(8))


def world(pattern: str) -> AggregatorWorld:
    """The machines of the Aggregators by number, again and again."""
    machines = {number: pattern[number % len(pattern)] for number in range(50)}
    return AggregatorWorld(PoolController(SETTINGS), machines=machines)


def shared(pool: AggregatorWorld) -> set[tuple[int, int]]:
    """Tensors with both copies on one machine, although there are others."""
    assert pool.replicas.keys() == pool.homes.keys()
    used = {pool.machines[number] for number in pool.aggregators}
    return {
        key
        for key, home in pool.homes.items()
        if pool.machines[home] == pool.machines[pool.replicas[key]] and len(used) > 1
    }


@pytest.mark.parametrize("pattern", ["ab", "aab", "aabb", "abc", "abbba"])
def test_copies_of_a_tensor_are_on_two_machines(pattern: str) -> None:
    pool = world(pattern)
    for name in ("one", "two", "three"):
        pool.place(name, 100 * MS, 45 * MS, tensors=1)
    assert len(set(pool.homes.values())) == 3
    assert shared(pool) == set()


def test_on_one_machine_they_are_on_two_processes() -> None:
    pool = world("a")
    for name in ("one", "two"):
        pool.place(name, 100 * MS, 45 * MS, tensors=1)
    assert all(home != pool.replicas[key] for key, home in pool.homes.items())


@pytest.mark.parametrize("pattern", ["abba", "abbab"])
def test_after_a_death_they_are_on_two_machines_again(pattern: str) -> None:
    pool = world(pattern)
    pool.place("one", 100 * MS, 45 * MS, tensors=1)
    for _ in range(3):
        pool.kill(pool.homes[0, 0])
        pool.settle()
        assert shared(pool) == set()


def test_the_next_pmaster_knows_the_machines() -> None:
    pool = world("ab")
    pool.place("one", 100 * MS, 1 * MS)
    state = restored(SETTINGS, saved(pool.controller.state), 0.0)
    assert {each.number: each.machine for each in state.aggregators.values()} == {0: "a", 1: "b"}
