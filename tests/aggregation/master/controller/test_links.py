"""Aggregators get no more traffic than their links transfer."""

from __future__ import annotations

import pytest

from aggregator_world import MS, AggregatorWorld, join
from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.state.events import Ticked, WorkerJoined
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.master.state.savepoint import restored, saved
from motet.aggregation.planner.clusters import ScalingRules

RULES = ScalingRules(8)


def two_jobs(link_bps: int | None) -> AggregatorWorld:
    """Each takes 40 ms of CPU time in an iteration of 100 ms. Its tensors have 36 bytes, which go
    to one worker and one replica: 90 ms at 6,400 bit/s.
    """
    pool = AggregatorWorld(PoolController(MasterSettings(RULES, link_bps=link_bps)))
    for name in ("mlp", "cnn"):
        pool.place(name, 100 * MS, 10 * MS)
    return pool


@pytest.mark.parametrize(("link_bps", "aggregators"), [(None, 1), (12_800, 1), (6_400, 2)])
def test_the_traffic_of_all_jobs_of_an_aggregator_fits_into_its_cycle(
    link_bps: int | None, aggregators: int
) -> None:
    pool = two_jobs(link_bps)
    assert pool.controller.state.pool.aggregators == aggregators


def test_profiles_follow_the_number_of_workers_after_a_period() -> None:
    pool = two_jobs(12_800)
    pool.handle(WorkerJoined(join("cnn", rank=1), "00"))
    pool.settle()
    pool.measure(1, 30, 100 * MS, 10 * MS)
    assert pool.controller.state.pool.aggregators == 1
    pool.handle(Ticked(pool.now_s + 100.0))
    assert pool.controller.state.pool.aggregators == 2


@pytest.mark.parametrize(("link_bps", "aggregators"), [(12_800, 1), (6_400, 2)])
def test_a_pool_that_goes_on_with_slower_links_has_room_at_once(
    link_bps: int, aggregators: int
) -> None:
    pool = two_jobs(None)
    settings = MasterSettings(RULES, link_bps=link_bps)
    state = restored(settings, saved(pool.controller.state), pool.now_s)
    pool.controller = PoolController(settings, state)
    pool.restart(are_done=False)
    pool.take(pool.controller.resume(set(pool.aggregators)))
    assert state.pool.aggregators == aggregators
    pool.settle()
    assert len(set(pool.homes.values())) == aggregators
