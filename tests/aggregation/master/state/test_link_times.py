"""Bytes of tensors as times on links."""

from __future__ import annotations

import pytest

from motet.aggregation.master.state.link_times import link_times
from motet.aggregation.wire.pool_messages import JoinJob
from motet.aggregation.wire.tensor_spec import TensorSpec

SECOND_NS = 1_000_000_000
REQUEST = JoinJob("mlp", 0, 2, 1, (TensorSpec("w", (250,)), TensorSpec("b", (100, 10), "bfloat16")))
"""1,000 and 2,000 bytes."""


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_values_go_to_each_worker_and_a_mean_to_the_replica(workers: int) -> None:
    found = link_times(REQUEST, workers, 8_000, 100 * SECOND_NS)
    assert found is not None
    assert found.tolist() == [(workers + 1) * SECOND_NS, (workers + 1) * 2 * SECOND_NS]


def test_no_tensor_takes_longer_than_an_iteration() -> None:
    found = link_times(REQUEST, 1, 8_000, 3 * SECOND_NS)
    assert found is not None
    assert found.tolist() == [2 * SECOND_NS, 3 * SECOND_NS]


def test_large_tensors_do_not_overflow() -> None:
    large = JoinJob("llm", 0, 1, 1, (TensorSpec("w", (2**40,)),))
    found = link_times(large, 1, 10**9, 2**62)
    assert found is not None
    assert found[0] == pytest.approx(2 * 8 * 4 * 2**40)


def test_without_a_rate_links_are_not_limited() -> None:
    assert link_times(REQUEST, 1, None, SECOND_NS) is None
