"""Aggregators whose tensors fit elsewhere are released, the least loaded first."""

from __future__ import annotations

import numpy as np

from aggregation_cases import assert_sound, profile
from motet.aggregation.planner.consolidation import consolidated_pool, emptied
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.rule_defaults import LOSS_LIMIT


def pool_of(*jobs: tuple[tuple[int, ...], tuple[int, ...]]) -> AggregatorPool:
    """Jobs of iterations of 10 with these tensors on these Aggregators."""
    pool = AggregatorPool()
    for number, (tensors, homes) in enumerate(jobs):
        pool = pool.with_job(number, profile(10, *tensors), np.array(homes))
    return pool


def test_the_least_loaded_aggregator_is_released() -> None:
    pool = consolidated_pool(pool_of(((5, 2), (0, 1)), ((3,), (2,))))
    assert_sound(pool, LOSS_LIMIT)
    assert pool.aggregators.tolist() == [0]
    assert pool.jobs[0].homes.tolist() == [0, 0]
    assert pool.jobs[1].homes.tolist() == [0]


def test_no_aggregator_is_released_whose_tensors_fit_only_in_part() -> None:
    pool = pool_of(((7,), (0,)), ((2, 2), (1, 1)))
    assert emptied(pool, 1) is None
    assert consolidated_pool(pool) is pool


def test_a_moved_job_keeps_the_cycle_of_the_aggregators_where_it_remains() -> None:
    """Iterations of 2 lose nothing in the cycle of 6 that a job left, and a third in one of 3."""
    pool = AggregatorPool()
    for number, (iteration_ns, homes) in enumerate([(20, (0, 1)), (30, (0,)), (60, (0,))]):
        tensors = [1] * len(homes)
        pool = pool.with_job(number, profile(iteration_ns, *tensors), np.array(homes))
    pool = pool.without_job(2)
    assert_sound(pool, LOSS_LIMIT)
    smaller = consolidated_pool(pool)
    assert_sound(smaller, LOSS_LIMIT)
    assert smaller.aggregators.tolist() == [0]
    assert smaller.losses() == {0: 0, 1: 0}


def test_a_job_is_not_moved_to_where_it_would_lose_speed() -> None:
    pool = pool_of(((1,), (0,))).with_job(1, profile(19, 1), np.array([1]))
    assert consolidated_pool(pool) is pool
