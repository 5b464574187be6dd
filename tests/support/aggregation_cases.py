"""Random jobs for the planner of Aggregators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.planner.scaling import pool_after_arrival

ITERATIONS = (20, 21, 40, 42, 60, 61, 100, 105, 120)
"""Some fit into the cycles of others nearly or exactly a whole number of times."""


def profile(
    iteration_ns: int,
    *tensor_ns: int,
    servers: int = 1,
    loss_limit: float | None = None,
    link_ns: Sequence[int] | None = None,
) -> AggregationProfile:
    links_ns = None if link_ns is None else np.array(link_ns)
    return AggregationProfile(iteration_ns, np.array(tensor_ns), servers, loss_limit, links_ns)


def random_jobs(
    seed: int, most_jobs: int = 5, most_tensors: int = 4, *, has_links: bool = False
) -> list[AggregationProfile]:
    """`has_links`: tensors also take time on links, some more and some less than CPU time."""
    random = np.random.default_rng(seed)
    jobs = []
    for _ in range(random.integers(2, most_jobs + 1)):
        iteration_ns = int(random.choice(ITERATIONS))
        shares = random.uniform(0.05, 0.6, random.integers(1, most_tensors + 1))
        tensor_ns = np.maximum(1, shares * iteration_ns).astype(int)
        link_ns = None
        if has_links:
            link_ns = (random.uniform(0, 0.6, len(shares)) * iteration_ns).astype(int)
        jobs.append(profile(iteration_ns, *tensor_ns, link_ns=link_ns))
    return jobs


@st.composite
def profiles(
    draw: st.DrawFn, most_tensors: int = 8, loss_limits: tuple[float | None, ...] = (None,)
) -> AggregationProfile:
    """About half of them take time on links."""
    iteration_ns = draw(st.integers(1, 1_000))
    needs = st.tuples(st.integers(1, iteration_ns), st.integers(0, iteration_ns))
    tensor_ns, link_ns = zip(*draw(st.lists(needs, min_size=1, max_size=most_tensors)), strict=True)
    return profile(
        iteration_ns,
        *tensor_ns,
        servers=draw(st.integers(1, 3)),
        loss_limit=draw(st.sampled_from(loss_limits)),
        link_ns=link_ns if draw(st.booleans()) else None,
    )


def arrived(jobs: list[AggregationProfile], loss_limit: float, repacked: int) -> AggregatorPool:
    pool = AggregatorPool()
    for number, job in enumerate(jobs):
        grown = pool_after_arrival(pool, number, job, loss_limit=loss_limit, repacked_jobs=repacked)
        assert grown is not None
        pool = grown
    return pool


def assert_sound(pool: AggregatorPool, loss_limit: float) -> None:
    """No Aggregator has more work, on its CPUs or its link, than its cycle (IV.2), and no job loses
    its limit.
    """
    state = pool.cycles(loss_limit)
    assert (state.free_ns >= 0).all()
    assert (state.free_link_ns >= 0).all()
    assert state.is_within.all()
    losses = pool.losses()
    for number, job in pool.jobs.items():
        own = job.profile.loss_limit
        assert losses[number] < (loss_limit if own is None else own)
        assert np.isin(job.homes, pool.aggregators).all()
