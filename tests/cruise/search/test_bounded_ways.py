"""Bounds of ways against all model splits, and the search that they shorten."""

from __future__ import annotations

import numpy as np
import pytest

from cruise_cases import random_case
from cruise_oracles import every_way_s
from motet.cruise.search.bounded_ways import (
    MOST_EFFORT,
    BestWay,
    best_by_bounds,
    is_boundable,
    read_way,
    ways_below,
)
from motet.cruise.search.problem import RoleMode, SearchProblem
from motet.cruise.search.whole_blocks import whole_epoch

NOTHING = BestWay(np.zeros(3, np.int64), np.zeros(3, np.int64), np.inf, is_optimal=False)


def problem_of(seed: int, roles: RoleMode = RoleMode.SEPARATE) -> SearchProblem:
    return SearchProblem.of(*random_case(seed, 12, 3, 60, 12), roles)


@pytest.mark.parametrize("roles", list(RoleMode))
@pytest.mark.parametrize("seed", range(4))
def test_no_epoch_in_whole_blocks_is_below_the_bound_of_its_way(seed: int, roles: RoleMode) -> None:
    problem = problem_of(seed, roles)
    numbers, bounds_s = ways_below(problem, np.inf)
    way = np.zeros(3, np.int64)
    for number, bound_s in zip(numbers.tolist(), bounds_s.tolist(), strict=True):
        read_way(problem.counts, number, way)
        epoch_s, _ = whole_epoch(problem, way, np.zeros(3), np.inf)
        assert bound_s <= epoch_s * (1 + 1e-8)


def test_ways_that_a_limit_excludes_are_those_with_higher_bounds() -> None:
    problem = problem_of(1)
    numbers, bounds_s = ways_below(problem, np.inf)
    limit_s = float(np.median(bounds_s))
    below, _ = ways_below(problem, limit_s)
    assert below.tolist() == numbers[bounds_s < limit_s * (1 - 1e-9)].tolist()


@pytest.mark.parametrize("roles", list(RoleMode))
@pytest.mark.parametrize("seed", range(4))
def test_a_search_with_enough_effort_has_the_optimum(seed: int, roles: RoleMode) -> None:
    problem = problem_of(seed, roles)
    found = best_by_bounds(problem, NOTHING, MOST_EFFORT)
    assert found.is_optimal
    assert found.epoch_s == pytest.approx(every_way_s(problem), rel=1e-6)


def test_a_search_that_runs_out_of_effort_does_not_claim_an_optimum() -> None:
    problem = problem_of(2)
    found = best_by_bounds(problem, NOTHING, 4 * int(np.prod(problem.counts + 1)))
    assert not found.is_optimal
    assert found.epoch_s >= every_way_s(problem) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("model_blocks", "effort", "is_boundable_"),
    [(12, MOST_EFFORT, True), (12, 10, False), (200, MOST_EFFORT, False)],
    ids=["usual", "more ways than effort", "more model splits than are all tried"],
)
def test_bounds_are_of_use_where_all_ways_and_model_splits_can_be_tried(
    model_blocks: int, effort: int, is_boundable_: bool
) -> None:
    problem = SearchProblem.of(*random_case(0, 12, 3, 60, model_blocks), RoleMode.SEPARATE)
    assert is_boundable(problem, effort) is is_boundable_
