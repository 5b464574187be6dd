"""Arrivals and ends: sound pools at all times, and nearly as few Aggregators as possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregation_cases import arrived, assert_sound, profile, profiles, random_jobs
from aggregation_oracle import AssignmentProgram
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.planner.scaling import REPACKED_JOBS, pool_after_arrival, pool_after_exit
from motet.aggregation.rule_defaults import LOSS_LIMIT
from soak_cases import others_in_soak

CASES = 60
SOAK_CASES = 400


def above_the_fewest(seed: int, has_links: bool) -> tuple[int, int]:
    """Aggregators more than the integer program's, and those."""
    jobs = random_jobs(seed, has_links=has_links)
    used = len(arrived(jobs, LOSS_LIMIT, REPACKED_JOBS).aggregators)
    fewest = AssignmentProgram(jobs, used).fewest(LOSS_LIMIT)
    assert fewest is not None
    return used - fewest, fewest


def assert_nearly_fewest(seeds: range, has_links: bool) -> None:
    above, fewest = np.array([above_the_fewest(seed, has_links) for seed in seeds]).T
    assert above.max() <= 1
    assert ((above + fewest) / fewest).mean() <= 1.1


@pytest.mark.soak
@pytest.mark.parametrize("has_links", others_in_soak([False, True], [False]))
def test_a_pool_has_nearly_as_few_aggregators_as_possible(has_links: bool) -> None:
    assert_nearly_fewest(range(CASES), has_links)


@pytest.mark.soak
@pytest.mark.parametrize("has_links", [False, True])
def test_many_pools_have_nearly_as_few_aggregators_as_possible(has_links: bool) -> None:
    assert_nearly_fewest(range(CASES, SOAK_CASES), has_links)


@given(
    st.lists(profiles(loss_limits=(None, 0.02, 0.4)), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
    st.sampled_from([0, REPACKED_JOBS]),
)
def test_no_sequence_of_arrivals_and_ends_overloads_an_aggregator_or_slows_a_job_down(
    jobs: list[AggregationProfile], random: object, repacked: int
) -> None:
    pool, ended = AggregatorPool(), 0
    for number, job in enumerate(jobs):
        grown = pool_after_arrival(pool, number, job, repacked_jobs=repacked)
        assert grown is not None
        assert_sound(grown, LOSS_LIMIT)
        pool = grown
        if random.random() < 0.5:  # type: ignore[attr-defined]
            pool, ended = pool_after_exit(pool, ended), ended + 1
            assert_sound(pool, LOSS_LIMIT)
    for number in range(ended, len(jobs)):
        pool = pool_after_exit(pool, number)
        assert_sound(pool, LOSS_LIMIT)
    assert not len(pool.aggregators)


def test_numbers_of_released_aggregators_are_not_used_again() -> None:
    pool = pool_after_exit(arrived([profile(10, 6), profile(10, 6)], LOSS_LIMIT, 0), 1)
    grown = pool_after_arrival(pool, 2, profile(10, 6))
    assert grown is not None
    assert grown.aggregators.tolist() == [0, 2]


def test_an_arrival_that_needs_more_than_allowed_changes_nothing() -> None:
    pool = arrived([profile(10, 6)], LOSS_LIMIT, 0)
    assert pool_after_arrival(pool, 1, profile(10, 6), most_new=0) is None
    assert list(pool.jobs) == [0]
