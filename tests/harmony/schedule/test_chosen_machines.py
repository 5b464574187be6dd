"""Which machines groups get: few jobs move."""

from __future__ import annotations

import numpy as np
import pytest

from motet.harmony.problem import JobGroup
from motet.harmony.schedule.chosen_machines import chosen_machines
from motet.harmony.schedule.held_groups import HeldGroup

HELD = (HeldGroup((0, 1), (0, 1, 2)), HeldGroup((2,), (3, 4)))


def test_a_group_of_the_same_size_keeps_its_machines() -> None:
    groups = [JobGroup((2, 5), 2), JobGroup((0, 1), 3)]
    assert chosen_machines(groups, HELD, range(6)) == [(3, 4), (0, 1, 2)]


def test_the_part_with_more_of_the_jobs_keeps_them_when_a_group_parts() -> None:
    held = (HeldGroup((0, 1, 2), (0, 1)),)
    groups = [JobGroup((0,), 2), JobGroup((1, 2), 2)]
    assert chosen_machines(groups, held, range(5)) == [(2, 3), (0, 1)]


def test_a_larger_group_adds_machines_and_a_smaller_one_gives_some_back() -> None:
    groups = [JobGroup((2,), 4), JobGroup((0, 1), 1)]
    assert chosen_machines(groups, HELD, range(6)) == [(1, 2, 3, 4), (0,)]


@pytest.mark.parametrize("seed", range(50))
def test_every_group_gets_its_machines_and_none_is_given_twice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 4)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    held = tuple(
        HeldGroup((2 * place, 2 * place + 1), tuple(range(starts[place], starts[place + 1])))
        for place in range(4)
    )
    members = np.array_split(rng.permutation(10), 3)
    counts = rng.multinomial(int(sizes.sum()) - 3, [1 / 3] * 3) + 1
    groups = [
        JobGroup(tuple(sorted(jobs.tolist())), int(count))
        for jobs, count in zip(members, counts, strict=True)
    ]
    found = chosen_machines(groups, held, range(int(sizes.sum())))
    assert [len(place) for place in found] == counts.tolist()
    assert len({machine for place in found for machine in place}) == sum(counts)
    assert all(list(place) == sorted(place) for place in found)
