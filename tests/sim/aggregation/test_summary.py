"""Means, ratios in each minute and losses, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from motet.sim.aggregation.history import PoolStep, ServiceHistory
from motet.sim.aggregation.summary import summarise_service
from service_cases import jobs_of

S = 1_000_000


@pytest.fixture
def history() -> ServiceHistory:
    """Two minutes with 4 servers, one with 2, one without a job, one with 2."""
    return ServiceHistory.of(
        jobs_of([("bert", 0, 180, 8), ("bert", 0, 120, 8), ("bert", 240, 60, 8)]),
        [
            PoolStep(0, 2, 4, 0, 4, 0.0, 0.0),
            PoolStep(30 * S, 2, 4, 2, 0, 0.02, 0.04),
            PoolStep(120 * S, 1, 2, 2, 0, 0.0, 0.0),
            PoolStep(180 * S, 0, 0, 0, 0, 0.0, 0.0),
            PoolStep(240 * S, 1, 2, 3, 0, 0.0, 0.0),
            PoolStep(300 * S, 0, 0, 0, 0, 0.0, 0.0),
        ],
        lost_us=np.array([0.04 * 90 * S, 0.0, 0.0]),
        largest_loss=np.array([0.04, 0.0, 0.0]),
        moves=1,
        moved_tensors=7,
    )


def test_the_ratio_of_a_minute_is_that_of_its_means(history: ServiceHistory) -> None:
    assert history.minute_ratios().tolist() == pytest.approx([3 / 4, 2 / 4, 2 / 2, 3 / 2])


def test_saved_cpu_time_is_that_of_all_servers(history: ServiceHistory) -> None:
    summary = summarise_service(history)
    used, required = (30 * 4 + 90 * 2 + 60 * 2 + 60 * 3) / 3600, (120 * 4 + 60 * 2 + 60 * 2) / 3600
    assert summary.aggregator_hours == pytest.approx(used)
    assert summary.server_hours == pytest.approx(required)
    assert summary.saved == pytest.approx(1 - used / required)
    assert summary.own_hours == pytest.approx(30 * 4 / 3600)
    assert summary.mean_servers == pytest.approx(required * 3600 / 300)
    assert (summary.most_servers, summary.most_aggregators, summary.most_jobs) == (4, 4, 2)


def test_minutes_with_as_many_aggregators_are_not_below_one(history: ServiceHistory) -> None:
    summary = summarise_service(history)
    assert summary.below_one == 2 / 4
    assert summary.largest_ratio == pytest.approx(1.5)


def test_losses_are_weighted_by_the_durations_of_jobs(history: ServiceHistory) -> None:
    summary = summarise_service(history)
    mean = 0.04 * 90 / (180 + 120 + 60)
    assert summary.mean_loss == pytest.approx(mean)
    assert summary.queue_losses == {"default": pytest.approx((mean, 0.04))}
