"""Joint copies among workers that die meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from aggregation_training import AggregatorPool, SmallTraining
from motet.aggregation.agent.numpy_agent import NumpyAgent

TRAINING = SmallTraining(workers=3)
ALIVE = {0: (1, 2), 1: (0, 2)}


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(1) as pool:
        yield pool


@pytest.mark.parametrize("dead", [0, 1])
def test_a_joint_copy_does_not_wait_for_a_worker_that_has_died(
    pool: AggregatorPool, dead: int
) -> None:
    """Without rank 0, the first of the others is the source, which alone fills its arrays."""
    agents = {rank: NumpyAgent(pool.table, rank, 3) for rank in range(3)}
    for agent in agents.values():
        agent.initialise(TRAINING.specs, TRAINING.spec, TRAINING.initial())
    arrays = {rank: np.full(3, rank + 1.0) for rank in ALIVE[dead]}
    with ThreadPoolExecutor(2) as threads:
        copies = [threads.submit(agents[rank].broadcast, [arrays[rank]]) for rank in ALIVE[dead]]
        pool.aggregators[0].set_workers(1, ALIVE[dead], 1)
        for copy in copies:
            copy.result(60)
    first = min(ALIVE[dead])
    assert [array.tolist() for array in arrays.values()] == [[first + 1.0] * 3] * 2
    again = {rank: np.full(2, rank + 1.0) for rank in ALIVE[dead]}
    with ThreadPoolExecutor(2) as threads:
        are_overwritten = threads.map(
            lambda rank: agents[rank].broadcast([again[rank]], lambda: again[rank].fill(7)),
            ALIVE[dead],
        )
        assert [*are_overwritten] == [False, True]
    assert [array.tolist() for array in again.values()] == [[7.0] * 2] * 2
    for agent in agents.values():
        agent.close()
