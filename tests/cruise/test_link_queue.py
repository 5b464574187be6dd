"""What is read from workers that are served one after another at a server's link."""

from __future__ import annotations

import numpy as np
import pytest

from motet.cruise.averages import MovingAverages
from motet.cruise.link_queue import measured_queue

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
        averages.observe(worker, 0.1, pull_s + push_s, batch_s, pulled, pushed, COMP_S)
    return averages


@pytest.mark.parametrize(("workers", "servers"), [(1, 7), (4, 4), (6, 2), (7, 1)])
@pytest.mark.parametrize(("pulled", "pushed"), [(8e5, 8e5), (8e5, 2e5), (1e5, 9e5)])
def test_the_last_pull_counts_and_only_pulls_are_multiplied(
    workers: int, servers: int, pulled: float, pushed: float
) -> None:
    averages = measured(workers, servers, pulled, pushed)
    sharing = max(workers / servers, 1.0)
    queue = measured_queue(averages, (pulled + pushed) * sharing)
    comm_s = np.mean([each.mean_s for each in averages.exchange_s().values()])
    took_s = (pulled * sharing + pushed) / BYTES_PER_S
    assert comm_s * queue.factor == pytest.approx(took_s, rel=0.1)
    assert queue.latency_s == pytest.approx(queue.factor * comm_s * pushed * 1e-6 / took_s)


def test_what_takes_long_for_other_reasons_is_no_queue() -> None:
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([0])
    averages.observe(0, 0.1, 0.2, 5.0, 1e6, 1e6, 0.1)
    queue = measured_queue(averages, 2e6)
    assert queue.factor == 1.0
    assert queue.latency_s == pytest.approx(0.1)


def test_without_bytes_nothing_is_known() -> None:
    averages = MovingAverages(skipped=0, least=1)
    averages.restart([0])
    averages.observe(0, 0.1, 0.2)
    assert measured_queue(averages, 0.0) == measured_queue(averages, 1.0)
