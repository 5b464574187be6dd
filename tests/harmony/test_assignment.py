"""Algorithm 2: worked examples, and the printed algorithm as oracle on many jobs."""

from __future__ import annotations

import numpy as np
import pytest

import harmony_letter
from motet.domain.arrays import Floats
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.assignment import assign_jobs, swap_between_groups


def sets_of(group_of: list[int]) -> set[frozenset[int]]:
    groups = {
        group: {row for row, own in enumerate(group_of) if own == group} for group in group_of
    }
    return {frozenset(rows) for rows in groups.values()}


def test_long_jobs_share_a_group_with_jobs_of_the_opposite_kind() -> None:
    comp_s, comm_s = np.array([8.0, 2.0, 3.0, 1.0]), np.array([2.0, 7.0, 1.0, 3.0])
    assert sets_of(assign_jobs(comp_s, comm_s, 2).tolist()) == {
        frozenset({0, 1}),
        frozenset({2, 3}),
    }


def test_a_remaining_job_joins_the_group_that_it_balances() -> None:
    # Groups {0, 3} and {1, 2} are full; job 4 needs the network that the first one leaves idle.
    comp_s, comm_s = np.array([9.0, 4.0, 4.0, 3.0, 1.0]), np.array([1.0, 4.0, 3.9, 4.0, 2.5])
    group_of = assign_jobs(comp_s, comm_s, 2)
    assert group_of[4] == group_of[0]


@pytest.mark.parametrize("seed", range(60))
def test_groups_are_those_of_the_printed_algorithm(seed: int) -> None:
    rng = np.random.default_rng([seed, 5])
    jobs = int(rng.integers(1, 60))
    groups = int(rng.integers(1, jobs + 1))
    comp_s, comm_s = np.exp(rng.normal(0, 1, (2, jobs)))
    times = [SubtaskTimes(comp, comm) for comp, comm in zip(comp_s, comm_s, strict=True)]
    expected = {frozenset(group) for group in harmony_letter.assign(times, groups)}
    assert sets_of(assign_jobs(comp_s, comm_s, groups).tolist()) == expected


@pytest.mark.parametrize("seed", range(10))
def test_swaps_keep_the_sizes_and_never_raise_the_imbalance(seed: int) -> None:
    rng = np.random.default_rng([seed, 6])
    difference, group_of = rng.normal(0, 1, 40), rng.permutation(np.arange(40) % 7)
    before = sums_of(difference, group_of, 7)
    swapped = group_of.copy()
    swap_between_groups(difference, swapped, 7)
    assert np.bincount(swapped, minlength=7).tolist() == np.bincount(group_of).tolist()
    assert np.abs(sums_of(difference, swapped, 7)).sum() < np.abs(before).sum()


def sums_of(difference: Floats, group_of: Floats, groups: int) -> Floats:
    return np.bincount(group_of, weights=difference, minlength=groups)
