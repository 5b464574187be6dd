"""Which Aggregators are emptied first."""

from __future__ import annotations

import numpy as np

from aggregation_cases import assert_sound, profile
from motet.aggregation.planner.consolidation import consolidated_pool
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.rule_defaults import LOSS_LIMIT


def test_an_aggregator_with_a_full_link_is_not_the_least_loaded() -> None:
    """Aggregator 0 has the least work, but its traffic fits nowhere else."""
    pool = AggregatorPool()
    for number, (cpu, link) in enumerate([(2, 9), (4, 2), (5, 5)]):
        pool = pool.with_job(number, profile(10, cpu, link_ns=[link]), np.array([number]))
    smaller = consolidated_pool(pool)
    assert smaller.aggregators.tolist() == [0, 2]
    assert_sound(smaller, LOSS_LIMIT)
