"""Jobs in clusters: one cluster per job, admission, periods, and borders that move no tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregation_cases import assert_sound, profile, profiles
from motet.aggregation.planner.clusters import ClusteredPool, ScalingRules
from motet.aggregation.planner.job_profile import AggregationProfile


def homes(pool: ClusteredPool) -> Iterator[tuple[int, list[int]]]:
    for cluster in pool.clusters:
        for number, job in cluster.jobs.items():
            yield number, job.homes.tolist()


def assert_consistent(pool: ClusteredPool, running: set[int]) -> None:
    """Each job is in one cluster or waits, and each Aggregator is in one cluster."""
    placed = [number for cluster in pool.clusters for number in cluster.jobs]
    assert sorted([*placed, *pool.waiting]) == sorted(running)
    aggregators = [n for cluster in pool.clusters for n in cluster.aggregators.tolist()]
    assert len(set(aggregators)) == len(aggregators) == pool.aggregators
    assert max(aggregators, default=-1) < pool.next_number
    for cluster in pool.clusters:
        assert_sound(cluster, pool.rules.loss_limit)
        assert not cluster.is_empty().any()


@given(
    st.lists(profiles(loss_limits=(None, 0.02, 0.4)), min_size=1, max_size=10),
    st.integers(1, 4),
    st.integers(0, 4),
    st.randoms(use_true_random=False),
)
def test_every_job_is_in_one_cluster_at_all_times(
    jobs: list[AggregationProfile], size: int, on_demand: int, random: object
) -> None:
    pool = ClusteredPool(ScalingRules(1_000, size, on_demand))
    running: set[int] = set()
    for number, job in enumerate(jobs):
        pool, running = pool.after_arrival(number, job), running | {number}
        assert_consistent(pool, running)
        choice = random.random()  # type: ignore[attr-defined]
        if choice < 0.3:
            ended = min(running)
            pool, running = pool.after_exit(ended), running - {ended}
        elif choice < 0.6:
            pool = pool.after_period()
            assert not pool.waiting
        assert_consistent(pool, running)


@given(st.lists(profiles(), min_size=1, max_size=8), st.integers(1, 4), st.integers(0, 10_000))
def test_links_that_are_never_fuller_than_cpus_change_nothing(
    jobs: list[AggregationProfile], size: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    without = ClusteredPool(ScalingRules(1_000, size))
    with_links = without
    for number, job in enumerate(jobs):
        unlimited = replace(job, link_ns=None)
        link_ns = (job.tensor_ns * random.random(job.tensors)).astype(np.int64)
        without = without.after_arrival(number, unlimited)
        with_links = with_links.after_arrival(number, replace(job, link_ns=link_ns))
        if random.random() < 0.4:
            ended = int(random.integers(number + 1))
            if without.cluster_of(ended) is not None:
                without, with_links = without.after_exit(ended), with_links.after_exit(ended)
            without, with_links = without.after_period(), with_links.after_period()
        assert list(homes(with_links)) == list(homes(without))


def test_a_job_needs_a_cluster_with_room_on_links_and_goes_to_the_fullest_one() -> None:
    pool = ClusteredPool(ScalingRules(10, cluster_size=1))
    for number, (cpu, link) in enumerate([(2, 9), (7, 2), (4, 6)]):
        pool = pool.after_arrival(number, profile(10, cpu, link_ns=[link]))
    assert len(pool.clusters) == 3
    for cpu, link, home in ((1, 1, 0), (1, 2, 1), (4, 2, 2), (8, 0, 0), (1, 8, 1)):
        grown = pool.after_arrival(3, profile(10, cpu, link_ns=[link]))
        assert dict(homes(grown))[3] == [home]


def test_a_job_with_more_traffic_than_its_aggregator_has_room_for_is_placed_anew() -> None:
    pool = ClusteredPool(ScalingRules(10))
    for number in range(2):
        pool = pool.after_arrival(number, profile(10, 1, link_ns=[3]))
    assert pool.with_profile(1, profile(10, 1, link_ns=[7])).aggregators == 1
    assert pool.with_profile(1, profile(10, 1, link_ns=[8])).aggregators == 2


def nearly_equal_job(random: np.random.Generator) -> AggregationProfile:
    """Its iteration is a little longer or shorter than those of others, or than half of them."""
    iteration_ns = int(random.choice([1_000, 2_000]) * random.uniform(0.85, 1.15))
    cpu, link = random.uniform(0.02, 0.4, (2, random.integers(2, 6))) * iteration_ns
    return profile(iteration_ns, *np.maximum(1, cpu).astype(int), link_ns=link.astype(int))


@pytest.mark.soak
def test_a_pool_in_which_many_jobs_come_and_go_remains_sound() -> None:
    """Cycles become longer and shorter, and are kept, many times."""
    random = np.random.default_rng(0)
    pool, running = ClusteredPool(ScalingRules(1_000)), set[int]()
    for number in range(150):
        pool, running = pool.after_arrival(number, nearly_equal_job(random)), running | {number}
        if len(running) > 12:
            ended = int(random.choice(sorted(running)))
            pool, running = pool.after_exit(ended), running - {ended}
            assert_consistent(pool, running)
        if random.random() < 0.3:
            pool = pool.after_period()
            assert_consistent(pool, running)


def test_a_job_goes_to_the_cluster_with_the_least_sufficient_free_cpu() -> None:
    pool = ClusteredPool(ScalingRules(10, cluster_size=1))
    for number, tensor in enumerate((7, 5, 9)):
        pool = pool.after_arrival(number, profile(10, tensor))
    assert len(pool.clusters) == 3
    assert dict(homes(pool.after_arrival(3, profile(10, 2))))[3] == [0]
    assert dict(homes(pool.after_arrival(3, profile(10, 4))))[3] == [1]


def test_new_aggregators_wait_for_the_period_or_for_enough_demand() -> None:
    pool = ClusteredPool(ScalingRules(10, on_demand=1))
    one = pool.after_arrival(0, profile(10, 6))
    assert (list(one.waiting), one.aggregators) == ([0], 0)
    assert one.after_period().aggregators == 1
    two = one.after_arrival(1, profile(10, 6))
    assert (list(two.waiting), two.aggregators) == ([], 2)


def test_a_job_is_admitted_with_room_for_all_the_servers_it_had_alone() -> None:
    pool = ClusteredPool(ScalingRules(3)).after_arrival(0, profile(10, 1))
    assert pool.may_admit(profile(10, 1, servers=2))
    assert not pool.may_admit(profile(10, 1, servers=3))
    waits = ClusteredPool(ScalingRules(3, on_demand=5)).after_arrival(0, profile(10, 1, servers=2))
    assert not waits.may_admit(profile(10, 1, servers=2))


def test_periods_join_and_cut_clusters_without_moving_a_tensor() -> None:
    pool = ClusteredPool(ScalingRules(10, cluster_size=1))
    for number in range(4):
        pool = pool.after_arrival(number, profile(10, 9))
    larger = ClusteredPool(
        ScalingRules(10, cluster_size=2), pool.clusters, next_number=pool.next_number
    )
    joined = larger.after_period()
    assert (len(pool.clusters), len(joined.clusters)) == (4, 2)
    cut = ClusteredPool(pool.rules, joined.clusters, next_number=4).after_period()
    assert len(cut.clusters) == 4
    assert sorted(homes(pool)) == sorted(homes(joined)) == sorted(homes(cut))


def test_jobs_that_share_an_aggregator_stay_in_one_cluster() -> None:
    pool = ClusteredPool(ScalingRules(10, cluster_size=1))
    for number, tensors in enumerate([(9,), (9, 9), (1,)]):
        pool = pool.after_arrival(number, profile(10, *tensors))
    sizes = sorted(len(cluster.aggregators) for cluster in pool.after_period().clusters)
    assert sizes == [1, 2]
    assert np.unique([n for _, home in homes(pool) for n in home]).tolist() == [0, 1, 2]
