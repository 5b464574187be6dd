"""Numbers of groups and machines against exhaustive search and the rule in plain words."""

from __future__ import annotations

import numpy as np
import pytest

import harmony_letter
from grouping_cases import random_problem
from motet.harmony.machine_split import (
    balanced_group_count,
    evened_group_count,
    least_machines,
    split_machines,
    worths,
)
from motet.harmony.problem import JobCosts, grouping_of


@pytest.mark.parametrize("seed", range(40))
def test_the_number_of_groups_balances_single_jobs_best(seed: int) -> None:
    rng = np.random.default_rng([seed, 8])
    jobs, machines = int(rng.integers(1, 40)), int(rng.integers(1, 60))
    problem = random_problem(
        seed, jobs, machines, with_constant=seed % 2 == 1, with_outside=seed % 4 > 1
    )
    off = [
        sum(abs(job.imbalance_s) for job in harmony_letter.times_of(problem, range(jobs), count))
        for count in range(1, min(jobs, machines) + 1)
    ]
    assert balanced_group_count(problem.costs, machines) == 1 + int(np.argmin(off))


def test_the_evened_number_of_groups_balances_the_sums() -> None:
    costs = JobCosts(np.array([30.0, 10.0]), np.zeros(2), np.array([2.0, 2.0]), *np.zeros((3, 2)))
    assert evened_group_count(costs, 10) == 1  # A DoP of 10: 4 s of COMP, 4 s of COMM.
    assert evened_group_count(costs, 20) == 2
    assert evened_group_count(costs, 200) == 2


@pytest.mark.parametrize("seed", range(20))
def test_machines_go_to_the_most_computation_bound_group(seed: int) -> None:
    problem = random_problem(seed, 12, 30, with_constant=seed % 2 == 1, with_outside=seed % 4 > 1)
    group_of = np.arange(12) % 5
    counts = split_machines(problem.costs, group_of, np.ones(5, np.int64), 30, False)
    groups = [np.flatnonzero(group_of == group).tolist() for group in range(5)]
    expected = harmony_letter.with_machines(problem, groups)
    assert grouping_of(group_of.tolist(), counts.tolist()) == expected


def test_by_relative_need_groups_of_short_jobs_get_machines_alike() -> None:
    costs = JobCosts(np.array([400.0, 4.0]), np.zeros(2), np.array([50.0, 1.0]), *np.zeros((3, 2)))
    group_of, one_each = np.array([0, 1]), np.ones(2, np.int64)
    assert split_machines(costs, group_of, one_each, 8, True).tolist() == [5, 3]
    assert split_machines(costs, group_of, one_each, 8, False).tolist() == [7, 1]
    assert split_machines(costs, group_of, np.array([1, 4]), 8, False).tolist() == [4, 4]


def test_a_group_fits_on_its_least_machines_and_on_no_fewer() -> None:
    problem = random_problem(3, 40, 60, with_memory=True)
    group_of = np.arange(40) % 20
    limit = problem.machine_memory_bytes
    least = least_machines(problem.costs, group_of, 20, 60, limit)
    for group, count in enumerate(least.tolist()):
        jobs = np.flatnonzero(group_of == group).tolist()
        assert problem.costs.bytes_on(jobs, count) <= count * limit
        assert count == 1 or problem.costs.bytes_on(jobs, count - 1) > (count - 1) * limit
    assert least.max() > 1
    assert least_machines(problem.costs, group_of, 20, 60, 1.0).tolist() == [61] * 20


@pytest.mark.parametrize("seed", range(10))
def test_worths_add_up_to_the_utilisation_of_the_model(seed: int) -> None:
    problem = random_problem(seed, 9, 20, with_constant=True, with_outside=True)
    group_of, counts = np.array([0, 1, 2, -1, 0, 1, 2, 2, -1]), np.array([9, 4, 7])
    worth = worths(problem.costs, group_of, counts, np.inf, problem.cpu_weight)
    grouping = grouping_of(group_of.tolist(), counts.tolist())
    assert worth.sum() / 20 == pytest.approx(problem.score(grouping))
