"""Changes that hardly pay are not made."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from demands import linear_speeds
from example_count import examples
from motet.allocation.damping import damped
from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Worth
from motet.allocation.max_min_share import RoleAllocation, demand_of
from motet.domain.cluster import ClusterSpec
from motet.domain.snapshot import JobTable
from policy_snapshots import snapshot

MOST = 6


def dealt_twice(
    held: list[int], left: list[float], gpus: int, limit: float
) -> tuple[RoleAllocation, RoleAllocation, JobTable]:
    """Without and with damping; jobs of 1 to `MOST` workers."""
    columns = {"held_gpus": held, "held_workers": held, "max_workers": MOST}
    jobs = snapshot(ClusterSpec.of([gpus]), len(held), **columns).jobs
    utility = Worth.of_time(linear_speeds(len(held)), np.array(left))
    order = np.arange(len(held))
    dealt = allot(order, demand_of(jobs), jobs.number, utility, gpus)
    return dealt, damped(dealt, order, jobs, utility, gpus, limit), jobs


def test_released_gpus_go_to_changing_jobs() -> None:
    """The first would end after 15 s instead of 10, the third after 60 instead of 300."""
    dealt, again, _ = dealt_twice([3, 2, 1], [30.0, 30.0, 300.0], 9, 5.0)
    assert dealt.gpus.tolist() == [2, 2, 5]
    assert again.gpus.tolist() == [3, 2, 4]


cases = st.integers(1, 5).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, MOST), min_size=size, max_size=size),
        st.lists(st.floats(1, 100), min_size=size, max_size=size),
    )
)


@settings(max_examples=examples(60))
@given(case=cases, more=st.integers(0, 8), limit=st.floats(0, 200))
def test_damping_keeps_running_jobs_within_the_capacity(case: Any, more: int, limit: float) -> None:
    held, left = case
    gpus = max(sum(held) + more, 1)
    dealt, again, jobs = dealt_twice(held, left, gpus, limit)
    assert again.gpus.sum() + again.free_gpus == gpus
    assert again.free_gpus >= 0
    assert (again.gpus[dealt.gpus > 0] > 0).all()
    change_s = np.abs(np.array(left) / np.maximum(dealt.gpus, 1) - left / np.maximum(held, 1))
    stays = (jobs.held_gpus > 0) & (dealt.gpus > 0) & (change_s <= limit)
    kept = again.gpus[stays] == jobs.held_gpus[stays]
    assert kept.all() or (again.gpus == dealt.gpus).all()
