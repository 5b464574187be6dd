"""Jobs that are switched to asynchronous training: the best choice by trying all of them."""

from __future__ import annotations

from itertools import chain, combinations, product

import numpy as np
import pytest

from grouping_cases import counting_work, random_problem
from motet.harmony.asynchronous import switched_jobs
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup, work_of
from soak_cases import others_in_soak


def problem_of(*jobs: tuple[float, float]) -> GroupingProblem:
    """COMP and COMM seconds on one machine."""
    known = random_problem(0, len(jobs), 1)
    comp_s, comm_s = np.array(jobs, float).T
    costs = known.costs._replace(divided_s=comp_s, constant_s=0 * comp_s, comm_s=comm_s)
    return GroupingProblem(costs, 1)


def group_of(problem: GroupingProblem) -> JobGroup:
    return JobGroup(tuple(range(len(problem))), problem.machines)


def switched(problem: GroupingProblem, efficiency: float) -> set[int]:
    return {*switched_jobs(problem, group_of(problem), range(len(problem)), efficiency)}


def test_a_job_alone_is_switched_if_it_saves_more_than_it_needs_more_iterations() -> None:
    alone = problem_of((3, 2))  # 3 instead of 5 s.
    assert switched(alone, 0.61) == {0}
    assert switched(alone, 0.59) == set()


def test_no_job_is_switched_where_others_fill_the_gaps() -> None:
    assert switched(problem_of((3, 1), (1, 3)), 1.0) == set()
    assert switched(problem_of((3, 1), (1, 3), (2, 2)), 1.0) == set()


def test_only_the_job_that_bounds_the_group_is_switched() -> None:
    assert switched(problem_of((1, 1), (6, 4)), 0.95) == {1}


def test_a_job_whose_user_does_not_permit_it_leaves_the_group_as_long() -> None:
    two = problem_of((5, 5), (1, 1))
    assert switched_jobs(two, group_of(two), {1}, 1.0) == frozenset()


def test_a_job_that_overlaps_already_is_not_switched() -> None:
    one = problem_of((5, 4))
    always = GroupingProblem(one.costs._replace(overlaps=np.ones(1)), 1)
    assert switched(always, 1.0) == set()


def test_a_job_that_stays_switched_counts_with_its_efficiency_as_well() -> None:
    """The group takes 7 instead of 10 s if both are switched: 14 e / 7 against (4 e + 10) / 10."""
    two = problem_of((2, 2), (5, 5))
    assert switched_jobs(two, group_of(two), {1}, 0.60, [0]) == frozenset()
    assert switched_jobs(two, group_of(two), {1}, 0.64, [0]) == {1}


@pytest.mark.parametrize("seed", others_in_soak(range(40), range(12)))
def test_no_other_choice_does_more_work(seed: int) -> None:
    """Beside so many jobs that are switched already, for every efficiency."""
    problem = random_problem(seed, 1 + seed % 5, 1 + seed % 7, with_outside=seed % 2 == 1)
    if seed % 3:
        problem = counting_work(problem)
    for staying, efficiency in product((0, 1, 2), (1.0, 0.95, 0.8, 0.6)):
        check_that_no_other_choice_does_more_work(problem, seed, staying, efficiency)


def check_that_no_other_choice_does_more_work(
    problem: GroupingProblem, seed: int, staying: int, efficiency: float
) -> None:
    kept = [*range(len(problem))][:staying]
    may = [job for job in range(len(problem)) if (seed + job) % 4 and job not in kept]
    found = switched_jobs(problem, group_of(problem), may, efficiency, kept)
    every = chain.from_iterable(combinations(may, size) for size in range(len(may) + 1))
    best = max(rate(problem, {*chosen, *kept}, efficiency) for chosen in every)
    assert {*found} <= {*may}
    assert rate(problem, {*found, *kept}, efficiency) == pytest.approx(best), (staying, efficiency)


def rate(problem: GroupingProblem, chosen: set[int], efficiency: float) -> float:
    """The work per second of the group with these jobs asynchronous."""
    overlaps = np.array([float(job in chosen) for job in range(len(problem))])
    known = GroupingProblem(problem.costs._replace(overlaps=overlaps), problem.machines)
    times = [known.times(job, problem.machines) for job in range(len(problem))]
    plain = [problem.times(job, problem.machines) for job in range(len(problem))]
    work = [work_of(problem.costs, j) or plain[j].iteration_s for j in range(len(problem))]
    done = sum(each * (efficiency if j in chosen else 1) for j, each in enumerate(work))
    longest_s = max(each.iteration_s for each in times)
    sums = sum(each.cpu_s for each in times), sum(each.comm_s for each in times)
    return done / max(*sums, longest_s)


def test_a_switched_job_makes_its_group_worth_more_by_the_model() -> None:
    one = problem_of((3, 2))
    overlapping = GroupingProblem(one.costs._replace(overlaps=np.ones(1)), 1)
    alone = Grouping((group_of(one),))
    assert overlapping.score(alone) == pytest.approx(one.score(alone) * 5 / 3)
