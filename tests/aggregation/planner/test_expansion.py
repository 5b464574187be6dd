"""A job that measures a loss gets further Aggregators, in the end as many as it had alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregation_cases import arrived, assert_sound, profile, profiles
from motet.aggregation.planner.consolidation import consolidated_pool
from motet.aggregation.planner.expansion import with_one_more
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.repacking import repacked
from motet.aggregation.planner.scaling import REPACKED_JOBS, pool_after_arrival, pool_after_exit
from motet.aggregation.rule_defaults import LOSS_LIMIT


@given(st.lists(profiles(), min_size=1, max_size=6), st.data())
def test_repeated_expansion_leaves_a_job_alone(
    jobs: list[AggregationProfile], data: st.DataObject
) -> None:
    pool = arrived(jobs, LOSS_LIMIT, repacked=0)
    number = data.draw(st.integers(0, len(jobs) - 1))
    shared, added = pool.aggregators, np.zeros(0, np.int64)
    while len(added) < min(jobs[number].servers, jobs[number].tensors):
        others = pool.without_job(number).jobs
        pool = with_one_more(pool, number, added)
        added = np.setdiff1d(pool.aggregators, shared)
        assert_sound(pool, LOSS_LIMIT)
        assert all(pool.jobs[other] is job for other, job in others.items())
    assert np.isin(pool.jobs[number].homes, added).all()
    assert pool.losses()[number] == 0


def test_neither_a_consolidation_nor_an_arrival_undoes_an_expansion() -> None:
    """Jobs with half an Aggregator each; the third one fits only beside the spread job."""
    halves = [profile(10, 2, 2), profile(10, 2, 2, servers=2)]
    pool = with_one_more(arrived(halves, LOSS_LIMIT, REPACKED_JOBS), 1, np.zeros(0, np.int64))
    reserved = set(pool.jobs[1].homes) - set(pool.jobs[0].homes)
    assert consolidated_pool(pool) is pool
    assert repacked(pool) is pool
    for repacked_jobs in (0, REPACKED_JOBS):
        grown = pool_after_arrival(pool, 2, profile(10, 5), repacked_jobs=repacked_jobs)
        assert grown is not None
        assert not reserved & set(grown.jobs[2].homes)
        assert grown.jobs[1] is pool.jobs[1]


def test_the_aggregators_of_a_spread_job_are_released_with_it() -> None:
    pool = arrived([profile(10, 2, 2), profile(10, 2, 2, servers=2)], LOSS_LIMIT, REPACKED_JOBS)
    spread = with_one_more(pool, 1, np.zeros(0, np.int64))
    assert len(spread.aggregators) == 2
    assert pool_after_exit(spread, 1).aggregators.tolist() == pool.aggregators.tolist()


def test_the_added_aggregator_takes_tensors_of_the_fuller_one() -> None:
    pool = arrived([profile(10, 5), profile(10, 2, 2, servers=3)], LOSS_LIMIT, repacked=0)
    assert pool.jobs[1].homes.tolist() == [0, 0]
    grown = with_one_more(pool, 1, np.zeros(0, np.int64))
    assert grown.jobs[1].homes.tolist() == [1, 1]
    assert grown.jobs[0].homes.tolist() == [0]


def test_the_added_aggregator_takes_tensors_of_the_one_with_the_fuller_link() -> None:
    jobs = [profile(10, 1, link_ns=[5]), profile(10, 2, 2, servers=3, link_ns=[2, 2])]
    pool = arrived(jobs, LOSS_LIMIT, repacked=0)
    assert pool.jobs[1].homes.tolist() == [0, 0]
    grown = with_one_more(pool, 1, np.zeros(0, np.int64))
    assert grown.jobs[1].homes.tolist() == [1, 1]
