"""Jobs assigned anew need fewer Aggregators, and tensors stay where they can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregation_cases import arrived, assert_sound, profile, profiles
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.planner.repacking import fewest, moved, repacked
from motet.aggregation.rule_defaults import LOSS_LIMIT


@given(st.lists(profiles(), min_size=1, max_size=8))
def test_repacking_never_needs_more_and_keeps_the_numbers(jobs: list[AggregationProfile]) -> None:
    before = arrived(jobs, LOSS_LIMIT, repacked=0)
    after = repacked(before)
    assert_sound(after, LOSS_LIMIT)
    assert after is before or len(after.aggregators) < len(before.aggregators)
    assert np.isin(after.aggregators, before.aggregators).all()
    assert (list(after.jobs), after.next_number) == (list(before.jobs), before.next_number)


@pytest.mark.parametrize(("link_ns", "least"), [(None, 1), ([4, 4], 2), ([1, 1], 1)])
def test_the_fuller_resource_is_the_lower_bound(link_ns: list[int] | None, least: int) -> None:
    pool = arrived([profile(10, 2, 2, link_ns=link_ns)] * 2, LOSS_LIMIT, repacked=0)
    assert fewest(pool, LOSS_LIMIT) == least
    assert len(pool.aggregators) == least


def test_tensors_stay_where_most_of_them_are() -> None:
    pool = AggregatorPool()
    for number, (tensors, homes) in enumerate([((5, 4), (7, 8)), ((6, 5), (9, 7))]):
        pool = pool.with_job(number, profile(10, *tensors), np.array(homes))
    after = repacked(pool)
    assert len(after.aggregators) == 2
    assert sum(len(tensors) for tensors in moved(pool, after).values()) == 1


def test_moved_names_the_tensors_that_change_their_aggregator() -> None:
    before = AggregatorPool().with_job(3, profile(10, 1, 2, 3), np.array([0, 0, 1]))
    after = before.with_job(3, before.jobs[3].profile, np.array([0, 1, 1]))
    assert {job: rows.tolist() for job, rows in moved(before, after).items()} == {3: [1]}
    assert not moved(after, after)
