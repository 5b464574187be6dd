"""Fewer jobs at nearly the same use."""

from __future__ import annotations

import pytest

from grouping_cases import counting_work, random_problem
from motet.harmony.preferences.fewer_jobs import with_fewer_jobs
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.starts import all_in_groups

TOLERANCE = 0.05


def grouping_of_all(problem: GroupingProblem) -> Grouping:
    found = all_in_groups(problem, 2)
    members = [[j for j, g in enumerate(found.group_of) if g == group] for group in range(2)]
    pairs = zip(members, found.counts.tolist(), strict=True)
    return Grouping(tuple(JobGroup(tuple(jobs), count) for jobs, count in pairs))


@pytest.mark.parametrize("seed", range(30))
def test_the_use_stays_within_the_tolerance_and_every_group_keeps_a_job(seed: int) -> None:
    problem = random_problem(seed, 12, 20, with_outside=seed % 2 == 1)
    before = grouping_of_all(problem)
    after = with_fewer_jobs(problem, before, TOLERANCE)
    assert {*after.jobs} <= {*before.jobs}
    assert [group.machines for group in after.groups] == [g.machines for g in before.groups]
    assert problem.score(after) >= problem.score(before) * (1 - TOLERANCE) - 1e-12


@pytest.mark.parametrize("seed", range(30))
def test_no_further_job_could_be_dropped(seed: int) -> None:
    problem = random_problem(seed, 12, 20, with_outside=seed % 2 == 1)
    if seed % 3 == 0:
        problem = counting_work(problem)
    before = grouping_of_all(problem)
    after = with_fewer_jobs(problem, before, TOLERANCE)
    least = problem.score(before) * (1 - TOLERANCE)
    for job in after.jobs:
        groups = without(after, job)
        if all(group.jobs for group in groups.groups):
            assert problem.score(groups) < least + 1e-12


def test_without_tolerance_only_jobs_without_use_are_dropped() -> None:
    problem = random_problem(3, 12, 20)
    before = grouping_of_all(problem)
    after = with_fewer_jobs(problem, before, 0.0)
    assert problem.score(after) >= problem.score(before) - 1e-12
    assert with_fewer_jobs(problem, Grouping(), 0.5) == Grouping()


@pytest.mark.parametrize("seed", range(30))
def test_each_dropped_job_is_the_one_that_lowers_the_use_least(seed: int) -> None:
    problem = random_problem(
        seed,
        12,
        20,
        with_outside=seed % 2 == 1,
        with_local=seed % 3 == 0,
        with_gaps=seed % 5 == 0,
    )
    if seed % 4 > 1:
        problem = counting_work(problem)
    before = grouping_of_all(problem)
    assert with_fewer_jobs(problem, before, TOLERANCE) == dropped_one_by_one(problem, before)


def dropped_one_by_one(problem: GroupingProblem, grouping: Grouping) -> Grouping:
    """The definition: every loss is computed anew after each dropped job."""
    least = problem.score(grouping) * (1 - TOLERANCE)
    while True:
        candidates = [
            without(grouping, job)
            for group in grouping.groups
            for job in group.jobs
            if len(group.jobs) > 1
        ]
        best = max(candidates, key=problem.score, default=None)
        if best is None or problem.score(best) < least:
            return in_ascending_order(grouping)
        grouping = best


def without(grouping: Grouping, job: int) -> Grouping:
    return Grouping(
        tuple(
            JobGroup(tuple(each for each in group.jobs if each != job), group.machines)
            for group in grouping.groups
        )
    )


def in_ascending_order(grouping: Grouping) -> Grouping:
    return Grouping(
        tuple(JobGroup(tuple(sorted(group.jobs)), group.machines) for group in grouping.groups)
    )
