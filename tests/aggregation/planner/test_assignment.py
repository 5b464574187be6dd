"""Best fit in cycles: Pseudocode 3 line by line, and what no input may lead to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aggregation_cases import arrived, assert_sound, profile, profiles, random_jobs
from aggregation_oracle import pseudocode_3
from motet.aggregation.planner.assignment import assign
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool

LIMITS = st.sampled_from([0.05, 0.1, 0.3])


@given(st.lists(profiles(), min_size=1, max_size=6), LIMITS)
def test_the_assignment_is_that_of_pseudocode_3(
    jobs: list[AggregationProfile], limit: float
) -> None:
    pool = arrived(jobs, limit, repacked=0)
    assert [job.homes.tolist() for job in pool.jobs.values()] == pseudocode_3(jobs, limit)
    assert_sound(pool, limit)


def test_a_tensor_goes_to_the_fullest_aggregator_with_room() -> None:
    pool = AggregatorPool()
    for number, (job, home) in enumerate([(profile(10, 4), 0), (profile(10, 7), 1)]):
        pool = pool.with_job(number, job, np.array([home]))
    for tensor, home in ((3, 1), (4, 0), (7, 2)):
        found = assign(pool, profile(10, tensor))
        assert found is not None
        assert found.homes.tolist() == [home]


@pytest.mark.parametrize(("link", "home"), [(1, 0), (5, 0), (6, 1), (9, 2)])
def test_a_tensor_goes_only_where_its_traffic_fits_too(link: int, home: int) -> None:
    """8 of the CPU time and 5 of the link are free on Aggregator 0, 6 and 7 on Aggregator 1."""
    pool = AggregatorPool()
    for number, (cpu, link_there) in enumerate([(2, 5), (4, 3)]):
        job = profile(10, cpu, link_ns=[link_there])
        pool = pool.with_job(number, job, np.array([number]))
    found = assign(pool, profile(10, 1, link_ns=[link]))
    assert found is not None
    assert found.homes.tolist() == [home]


def test_the_traffic_of_all_runs_in_a_cycle_counts() -> None:
    pool = AggregatorPool().with_job(0, profile(20, 1), np.array([0]))
    homes = [assign(pool, profile(10, 1, link_ns=[link])) for link in (10, 9)]
    assert [each.homes.tolist() for each in homes if each is not None] == [[0], [0]]
    fuller = AggregatorPool().with_job(0, profile(20, 1, link_ns=[1]), np.array([0]))
    homes = [assign(fuller, profile(10, 1, link_ns=[link])) for link in (10, 9)]
    assert [each.homes.tolist() for each in homes if each is not None] == [[1], [0]]


def _ties_are_equal(job: AggregationProfile) -> bool:
    """Whether tensors whose longer need is the same have the same needs."""
    longer = job.needs_ns.max(axis=0)
    return len(np.unique(longer)) == len(np.unique(job.needs_ns, axis=1).T)


@given(st.integers(0, 10_000), st.booleans())
def test_the_order_of_equal_tensors_does_not_matter(seed: int, has_links: bool) -> None:
    *present, arriving = random_jobs(seed, has_links=has_links)
    assume(_ties_are_equal(arriving))
    pool = arrived(present, 0.1, repacked=0)
    order = np.random.default_rng(seed).permutation(arriving.tensors)
    one = assign(pool, arriving)
    cpu_ns, link_ns = arriving.needs_ns[:, order]
    other = assign(pool, profile(arriving.iteration_ns, *cpu_ns, link_ns=link_ns))
    assert one is not None
    assert other is not None
    pairs = [
        sorted(zip(each.homes.tolist(), needs.T.tolist(), strict=True))
        for each, needs in ((one, arriving.needs_ns), (other, arriving.needs_ns[:, order]))
    ]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize("most_new", [0, 1])
def test_no_more_new_aggregators_than_allowed(most_new: int) -> None:
    assert assign(AggregatorPool(), profile(10, 6, 6), most_new=most_new) is None
    assert assign(AggregatorPool(), profile(10, 6, 6), most_new=2) is not None


def test_excluded_aggregators_get_no_tensor() -> None:
    pool = arrived([profile(10, 1)], 0.1, repacked=0)
    found = assign(pool, profile(10, 1), excluded=np.array([0]))
    assert found is not None
    assert found.homes.tolist() == [1]
