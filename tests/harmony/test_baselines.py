"""Isolated jobs use the CPUs as much as any division of machines; naive groups fit."""

from __future__ import annotations

import numpy as np
import pytest

from grouping_cases import random_problem
from grouping_oracle import every_grouping
from motet.domain.errors import BadInput
from motet.harmony.baselines import isolated_grouping, naive_grouping
from motet.harmony.problem import Grouping, GroupingProblem, JobCosts, JobGroup


@pytest.mark.parametrize("seed", range(20))
def test_isolated_jobs_use_the_cpus_most(seed: int) -> None:
    problem = random_problem(seed, 4, 6, with_constant=seed % 2 == 1)
    alone = [
        grouping
        for grouping in every_grouping(4, 6)
        if len(grouping.groups) == len(grouping.jobs) == 4
    ]
    found = isolated_grouping(problem)
    assert found.machines == 6
    best = max(problem.utilisation(grouping).cpu for grouping in alone)
    assert problem.utilisation(found).cpu == pytest.approx(best)


def test_isolated_jobs_get_machines_for_their_memory_in_their_order() -> None:
    costs = JobCosts(
        np.ones(3), np.zeros(3), np.ones(3), np.array([25.0, 60.0, 10.0]), *np.zeros((2, 3))
    )
    found = isolated_grouping(GroupingProblem(costs, 5, 10.0))
    assert {group.jobs for group in found.groups} == {(0,), (2,)}
    assert found.groups[0].machines >= 3
    assert found.machines == 5


def test_naive_groups_are_dealt_in_the_given_order() -> None:
    problem = random_problem(1, 5, 7)
    assert naive_grouping(problem, 2, [4, 3, 2, 1, 0]) == Grouping(
        (JobGroup((0, 2, 4), 4), JobGroup((1, 3), 3))
    )


@pytest.mark.parametrize("seed", range(10))
def test_naive_groups_fit_into_memory(seed: int) -> None:
    problem = random_problem(seed, 12, 6, with_memory=True)
    order = np.random.default_rng(seed).permutation(12).tolist()
    for group_count in range(1, 7):
        assert problem.fits(naive_grouping(problem, group_count, order))


@pytest.mark.parametrize("group_count", [0, 7])
def test_impossible_numbers_of_groups_are_refused(group_count: int) -> None:
    with pytest.raises(BadInput, match="must be within 1 and 6"):
        naive_grouping(random_problem(0, 3, 6), group_count, [0, 1, 2])
