"""Why tensors are where they are, where links are limited."""

from __future__ import annotations

import pytest

from aggregator_world import MS, AggregatorWorld
from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.master.views.explanation import explained_placement
from motet.aggregation.master.views.pool_view import view_of
from motet.aggregation.planner.clusters import ScalingRules
from motet.aggregation.wire.pool_views import TensorView


def two_jobs(link_bps: int | None) -> AggregatorWorld:
    """Each takes 40 ms of CPU time with its replicas, and has tensors of 16 and 20 bytes."""
    settings = MasterSettings(ScalingRules(8), link_bps=link_bps)
    pool = AggregatorWorld(PoolController(settings))
    for name in ("mlp", "cnn"):
        pool.place(name, 100 * MS, 10 * MS)
    return pool


def first_tensor(pool: AggregatorWorld, name: str) -> TensorView:
    job = pool.controller.job_named(name)
    assert job is not None
    return explained_placement(pool.controller.state, job).tensors[0]


@pytest.mark.parametrize(
    ("link_bps", "end"),
    [
        (None, "20.0% are free"),
        (102_400, "20.0% are free"),
        (12_800, "20.0% are free, but only 10.0% of its link"),
    ],
)
def test_the_link_is_named_where_it_is_fuller(link_bps: int | None, end: str) -> None:
    pool = two_jobs(link_bps)
    assert first_tensor(pool, "cnn").reason.endswith(f"takes 20.0% of it; {end}")


def test_a_tensor_is_not_where_the_link_has_no_room() -> None:
    pool = two_jobs(6_400)
    (mlp,) = pool.controller.state.jobs[0].live_homes
    (other,) = first_tensor(pool, "cnn").others
    assert other == f"Aggregator {mlp}: 10 ms of its link are free, 40 ms are needed"


@pytest.mark.parametrize(("link_bps", "shares"), [(None, [0.0, 0.0]), (12_800, [0.0, 0.9])])
def test_the_view_tells_how_busy_links_are(link_bps: int | None, shares: list[float]) -> None:
    view = view_of(two_jobs(link_bps).controller.state)
    assert sorted(each.link_share for each in view.aggregators) == pytest.approx(shares)
