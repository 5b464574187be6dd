"""The queue estimated from workers that are served one after another at a server's link."""

from __future__ import annotations

import numpy as np
import pytest

from batch_measurements import measurement
from motet.cruise.calibration.averages import BatchMeasurement, MovingAverages, means_of
from motet.cruise.calibration.link_queue import NO_QUEUE, measured_queue

COMP_S = 0.5
BYTES_PER_S = 1e6


def measured(workers: int, servers: int, pulled: float, pushed: float) -> MovingAverages:
    """Workers that begin together; each server answers one after another."""
    averages = MovingAverages(skipped=0, least=1)
    averages.restart(range(workers))
    own_s, sharing = pulled / BYTES_PER_S, max(workers / servers, 1.0)
    waited_s = np.maximum(own_s * sharing * np.arange(1, workers + 1) / workers, own_s)
    push_s = pushed / BYTES_PER_S
    batch_s = float(waited_s.max()) + COMP_S + push_s
    for worker, pull_s in enumerate(waited_s.tolist()):
        averages.observe(measurement(worker, COMP_S, pull_s + push_s, batch_s, 1, pulled, pushed))
    return averages


@pytest.mark.parametrize(("workers", "servers"), [(1, 7), (4, 4), (6, 2), (7, 1)])
@pytest.mark.parametrize(("pulled", "pushed"), [(8e5, 8e5), (8e5, 2e5), (1e5, 9e5)])
def test_the_last_pull_counts_and_only_pulls_are_multiplied(
    workers: int, servers: int, pulled: float, pushed: float
) -> None:
    averages = measured(workers, servers, pulled, pushed)
    sharing = max(workers / servers, 1.0)
    queue = measured_queue(averages, (pulled + pushed) * sharing)
    comm_s = np.mean(list(means_of(averages.exchange_s()).values()))
    took_s = (pulled * sharing + pushed) / BYTES_PER_S
    assert comm_s * queue.factor == pytest.approx(took_s, rel=0.1)
    assert queue.latency_s == pytest.approx(queue.factor * comm_s * pushed * 1e-6 / took_s)


def test_time_that_no_queue_explains_is_no_queue() -> None:
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([0])
    averages.observe(measurement(0, 0.1, 0.2, 5.0, 1, 1e6, 1e6))
    queue = measured_queue(averages, 2e6)
    assert queue.factor == 1.0
    assert queue.latency_s == pytest.approx(0.1)


@pytest.mark.parametrize(
    "batch", [measurement(0, 0.1, 0.2), measurement(0, 0.1, 0.0, pulled_bytes=1e6)]
)
def test_without_bytes_or_without_an_exchange_there_is_no_queue(batch: BatchMeasurement) -> None:
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([0])
    averages.observe(batch)
    assert measured_queue(averages, 1.0) == NO_QUEUE
