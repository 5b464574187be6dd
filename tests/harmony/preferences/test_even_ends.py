"""Groups whose jobs end together, at nearly the same use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grouping_cases import random_problem
from motet.harmony.preferences.even_ends import preferring_even_ends, unevenness, with_even_ends
from motet.harmony.problem import OUTSIDE, Grouping, GroupingProblem, JobCosts, JobGroup
from motet.harmony.search import best_grouping
from soak_cases import others_in_soak

TOLERANCE = 0.05


def problem_with_ends(seed: int, jobs: int = 12, machines: int = 20) -> GroupingProblem:
    problem = random_problem(seed, jobs, machines, with_memory=seed % 2 == 1, balanced_machines=4)
    left = np.random.default_rng([seed, 9]).integers(1, 1000, jobs).astype(float)
    return replace(problem, iterations_left=left)


def unevenness_of(problem: GroupingProblem, grouping: Grouping) -> float:
    assert problem.iterations_left is not None
    group_of = np.full(len(problem), OUTSIDE)
    for place, group in enumerate(grouping.groups):
        group_of[list(group.jobs)] = place
    counts = np.array([group.machines for group in grouping.groups])
    return float(unevenness(problem.iterations_left, group_of, counts))


def sizes(grouping: Grouping) -> list[tuple[int, int]]:
    return [(len(group.jobs), group.machines) for group in grouping.groups]


def test_unevenness_is_what_is_missing_until_the_last_job_of_each_group_ends() -> None:
    left = np.array([10.0, 5.0, 4.0, 4.0, np.nan, 99.0])
    group_of, counts = np.array([0, 0, 1, 1, 0, OUTSIDE]), np.array([8, 3])
    assert unevenness(left, group_of, counts) == pytest.approx(8 * (1 - 15 / 20))


@pytest.mark.parametrize("seed", others_in_soak(range(20), range(1)))
def test_groups_end_more_evenly_and_the_use_stays_within_the_tolerance(seed: int) -> None:
    problem = problem_with_ends(seed)
    before = best_grouping(problem)
    after = with_even_ends(problem, before, TOLERANCE)
    assert sizes(after) == sizes(before)
    assert problem.fits(after)
    assert problem.score(after) >= problem.score(before) * (1 - TOLERANCE) - 1e-12
    assert unevenness_of(problem, after) <= unevenness_of(problem, before)


@pytest.mark.parametrize("seed", range(6))
def test_no_further_exchange_would_help(seed: int) -> None:
    problem = problem_with_ends(seed, jobs=8)
    before = best_grouping(problem)
    after = with_even_ends(problem, before, TOLERANCE)
    least, now = problem.score(before) * (1 - TOLERANCE), unevenness_of(problem, after)
    for one in after.jobs:
        for other in range(len(problem)):
            swap = {one: other, other: one}
            exchanged = Grouping(
                tuple(
                    JobGroup(tuple(swap.get(job, job) for job in group.jobs), group.machines)
                    for group in after.groups
                )
            )
            if problem.fits(exchanged) and problem.score(exchanged) >= least + 1e-12:
                assert unevenness_of(problem, exchanged) >= now - 1e-6


def test_equal_jobs_are_exchanged_until_each_group_ends_together() -> None:
    """With waiting jobs, too."""
    costs = JobCosts(np.full(5, 8.0), np.zeros(5), np.full(5, 4.0), *np.zeros((3, 5)))
    left = np.array([100.0, 7.0, 100.0, 7.0, 100.0])
    problem = GroupingProblem(costs, 4, iterations_left=left)
    mixed = Grouping((JobGroup((0, 1), 2), JobGroup((2, 3), 2)))
    after = with_even_ends(problem, mixed, 0.0)
    assert unevenness_of(problem, after) == 0
    assert problem.score(after) == problem.score(mixed)


@pytest.mark.parametrize("unknown", [np.nan, np.inf])
def test_a_job_without_an_end_does_not_keep_the_others_from_being_exchanged(unknown: float) -> None:
    costs = JobCosts(np.full(6, 8.0), np.zeros(6), np.full(6, 4.0), *np.zeros((3, 6)))
    problem = GroupingProblem(costs, 6, iterations_left=np.array([100.0, 7, 100, 7, unknown, 50]))
    mixed = Grouping((JobGroup((0, 1), 2), JobGroup((2, 3), 2), JobGroup((4, 5), 2)))
    after = with_even_ends(problem, mixed, 0.0)
    assert sorted(group.jobs for group in after.groups) == [(0, 2), (1, 3), (4, 5)]


def test_jobs_without_a_predicted_end_stay() -> None:
    costs = JobCosts(np.full(4, 8.0), np.zeros(4), np.full(4, 4.0), *np.zeros((3, 4)))
    unknown = GroupingProblem(costs, 4, iterations_left=np.array([100.0, np.nan, np.nan, 7.0]))
    mixed = Grouping((JobGroup((0, 1), 2), JobGroup((2, 3), 2)))
    assert with_even_ends(unknown, mixed, 0.5) == mixed
    assert with_even_ends(replace(unknown, iterations_left=None), mixed, 0.5) == mixed
    assert with_even_ends(unknown, Grouping(), 0.5) == Grouping()


def test_a_part_of_a_problem_has_the_ends_of_its_jobs() -> None:
    problem = problem_with_ends(3)
    assert problem.iterations_left is not None
    part = problem.part([4, 2], 7)
    assert part.iterations_left is not None
    assert part.iterations_left.tolist() == problem.iterations_left[[4, 2]].tolist()
    assert part.machines == 7
    found = preferring_even_ends(best_grouping, TOLERANCE)(part)
    assert part.fits(found)
