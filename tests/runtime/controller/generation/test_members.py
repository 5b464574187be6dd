"""Who takes part, who may end, and who computes which mini-batch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from motet.runtime.controller.generation.members import Members
from scripted_executors import ScriptedExecutor


@pytest.fixture
def executors() -> Iterator[dict[int, ScriptedExecutor]]:
    made = {number: ScriptedExecutor(number) for number in (0, 1, 5)}
    yield made
    for executor in made.values():
        executor.kill()


def test_members_are_listed_by_number(executors: dict[int, ScriptedExecutor]) -> None:
    members = Members({5: executors[5], 0: executors[0]}, workers=(0,))
    assert members.numbers == [0, 5]
    assert members.endpoints == {5: executors[5].endpoint(), 0: executors[0].endpoint()}


def test_an_executor_that_begins_a_life_takes_part_once_it_is_added(
    executors: dict[int, ScriptedExecutor],
) -> None:
    members = Members({0: executors[0]}, workers=(0,))
    members.begin_life(executors[1])
    assert members.numbers == [0]
    assert members.endpoints[1] == executors[1].endpoint()
    members.add(executors[1])
    assert members.numbers == [0, 1]
    assert members.remove(1) is executors[1]
    assert members.numbers == [0]


def test_the_end_of_a_dismissed_executor_is_expected_and_that_of_its_successor_is_not(
    executors: dict[int, ScriptedExecutor],
) -> None:
    members = Members({0: executors[0], 1: executors[1]}, workers=(0,))
    assert not members.is_expected(1, 0)
    members.expect_end(1)
    members.remove(1)
    members.begin_life(executors[1])
    assert members.life_of(1) == 1
    assert (members.is_expected(1, 0), members.is_expected(1, 1)) == (True, False)


def test_workers_of_a_mini_batch_are_those_of_the_last_change_before_it() -> None:
    members = Members({}, workers=(0, 1))
    members.set_workers((0, 1, 2), 10)
    members.set_workers((2,), 10)
    members.set_workers((2, 3), 12)
    found = [members.workers_at(clock) for clock in (0, 9, 10, 11, 12, 99)]
    assert found == [(0, 1), (0, 1), (2,), (2,), (2, 3), (2, 3)]
