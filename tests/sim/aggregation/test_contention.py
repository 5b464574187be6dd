"""Losses by shared work, and the further Aggregator of a job that measures too much of it."""

from __future__ import annotations

import numpy as np
import pytest

from aggregation_cases import profile
from motet.aggregation.planner.clusters import ClusteredPool, ScalingRules
from motet.aggregation.planner.pool import AggregatorPool
from motet.sim.aggregation.contention import measured_losses, with_own_aggregator
from motet.sim.aggregation.replay import replay
from service_cases import jobs_of, rules

S = 1_000_000


def cluster() -> AggregatorPool:
    """Job 0 has 3 of 4 units of its work on the Aggregator of job 1; job 2 is alone."""
    pool = AggregatorPool().with_job(0, profile(10, 3, 1), np.array([0, 1]))
    return pool.with_job(1, profile(9, 2), np.array([0])).with_job(2, profile(10, 1), np.array([2]))


def test_a_job_loses_speed_by_its_work_on_shared_aggregators_beside_the_predicted_loss() -> None:
    losses = measured_losses(cluster(), 0.2)
    assert losses == {0: pytest.approx(0.2 * 3 / 4), 1: pytest.approx(0.1 + 0.2), 2: 0}


def test_a_job_gets_one_more_aggregator_in_its_cluster() -> None:
    other = AggregatorPool(next_number=9).with_job(7, profile(10, 1), np.array([8]))
    pool = ClusteredPool(ScalingRules(100), (other, cluster()), next_number=9)
    spread = with_own_aggregator(pool, 0)
    assert spread.clusters[0] is other
    assert set(spread.clusters[1].jobs[0].homes.tolist()) == {1, 9}
    assert spread.next_number == 10
    assert measured_losses(spread.clusters[1], 0.2)[0] == 0


def test_a_measured_loss_splits_two_jobs_until_one_of_them_ends() -> None:
    """They fit on one Aggregator, which they leave after 100 iterations of 0.55 s / 0.8."""
    jobs = jobs_of([("vgg19", 0, 5_000, 8), ("vgg19", 0, 4_000, 8)])
    history = replay(jobs, rules(period_s=300))
    assert history.shared.max() == 1
    history = replay(jobs, rules(period_s=300, contention=0.2))
    placed_us = int(history.at_us[1])
    split = placed_us + 100 * jobs.profiles[0].iteration_ns / 0.8 / 1_000
    assert history.at_us[2] == pytest.approx(split, abs=2)
    counts = {int(at): int(count) for at, count in zip(history.at_us, history.shared, strict=True)}
    assert {count for at, count in counts.items() if split - S < at < 4_000 * S} == {2}
    assert counts[4_000 * S] == 1
    assert history.spreads == 1
