"""Numbers of workers by type: all of them, descents, and a given total."""

from __future__ import annotations

import numpy as np
import pytest

from cruise_cases import random_case
from motet.cruise.search.machine_counts import (
    DESCENTS,
    USUAL,
    SearchEffort,
    best_in_order,
    best_with,
    relaxed_descent,
    relaxed_epochs,
    search,
)
from motet.cruise.search.problem import RoleMode, SearchProblem


def problem_of(seed: int) -> SearchProblem:
    return SearchProblem.of(*random_case(seed, 12, 3, 60, 12), RoleMode.SEPARATE)


@pytest.mark.parametrize("effort", [USUAL, DESCENTS], ids=["all ways", "descents"])
def test_every_way_that_is_tried_is_possible_and_none_is_better(effort: SearchEffort) -> None:
    problem = problem_of(0)
    found = search(problem, effort)
    assert (found.tried >= 0).all()
    assert (found.tried <= problem.counts).all()
    assert found.tried.sum(axis=1).max() <= problem.data_blocks
    every = best_in_order(problem, found.tried, found.relaxed_s, len(found.tried))
    assert found.epoch_s <= every[2] * (1 + 1e-9)
    assert found.model_blocks.sum() == problem.model_blocks


def test_a_descent_ends_where_no_neighbour_is_better() -> None:
    problem = problem_of(1)
    tried, relaxed_s = relaxed_descent(problem, np.ones(3, np.int64), False)
    best = tried[np.argmin(relaxed_s)]
    steps = np.vstack([np.eye(3, dtype=np.int64), -np.eye(3, dtype=np.int64)])
    neighbours = best + steps
    is_possible = ((neighbours >= 0) & (neighbours <= problem.counts)).all(axis=1)
    around_s = relaxed_epochs(problem, neighbours[is_possible])
    assert (around_s >= relaxed_s.min() * (1 - 1e-8)).all()


@pytest.mark.parametrize("total", [1, 5, 11])
def test_a_given_number_of_workers_is_kept(total: int) -> None:
    problem = problem_of(2)
    workers, epoch_s = best_with(problem, search(problem).workers, total)
    assert workers.sum() == total
    assert np.isfinite(epoch_s)


def test_a_descent_with_a_fixed_total_tries_no_other() -> None:
    tried, _ = relaxed_descent(problem_of(3), np.array([2, 1, 1]), True)
    assert set(tried.sum(axis=1).tolist()) == {4}
