"""An Aggregator dies while workers train: its replica goes on, the curve is the same to the bit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from aggregation_training import AggregatorPool, SmallTraining, same, same_state
from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.domain.errors import NotFound

TRAINING = SmallTraining(steps=12, kind="adamw", options={"lr": 0.1})


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(2) as pool:
        yield pool


class DeathInStep:
    """Replicates before one step; in a later one an Aggregator dies, and the other takes over."""

    def __init__(self, pool: AggregatorPool, step: int, victim: int) -> None:
        self._pool, self._step, self._victim = pool, step, victim

    def __call__(self, rank: int, step: int) -> None:
        if rank != 0:
            return
        pool = self._pool
        if step == 2:
            for number, aggregator in enumerate(pool.aggregators):
                aggregator.replicate(1, pool.table.on(number), pool.peer(1 - number))
        if step == self._step:
            survivor = 1 - self._victim
            tensors = pool.table.on(self._victim)
            pool.aggregators[self._victim].close()
            pool.aggregators[survivor].promote(1, tensors)
            pool.table.move(tensors, survivor)


@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.parametrize("step", [3, 8])
def test_no_step_is_lost_and_none_is_applied_twice(
    pool: AggregatorPool, victim: int, step: int
) -> None:
    found = TRAINING.run(pool.table, DeathInStep(pool, step, victim))
    values, state = TRAINING.with_torch()
    assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


def test_training_goes_on_without_its_replica(pool: AggregatorPool) -> None:
    def on_step(rank: int, step: int) -> None:
        if rank == 0 and step == 2:
            pool.aggregators[0].replicate(1, range(len(TRAINING.shapes)), pool.peer(1))
        if rank == 0 and step == 5:
            pool.aggregators[1].close()

    pool.table.routes(TRAINING.specs)
    pool.table.move(range(len(TRAINING.shapes)), 0)
    found = TRAINING.run(pool.table, on_step)
    values, _ = TRAINING.with_torch()
    assert all(same(own, values) for own, _ in found)


def test_a_tensor_without_a_replica_cannot_be_promoted(pool: AggregatorPool) -> None:
    with pytest.raises(NotFound, match="tensor 0 of job 1 has no replica here"):
        pool.aggregators[0].promote(1, [0])


def test_a_moved_tensor_keeps_its_replica() -> None:
    """From Aggregator 0 to 2; then 2 dies, and the replica at 1 goes on."""
    every = range(len(TRAINING.shapes))
    with AggregatorPool(3) as pool, ThreadPoolExecutor(1) as threads:
        pool.table.routes(TRAINING.specs)
        pool.table.move(every, 0)
        moves: list[Future[None]] = []

        killed = threading.Event()

        def on_step(rank: int, step: int) -> None:
            if rank == 0 and step == 2:
                pool.aggregators[0].replicate(1, every, pool.peer(1))
                moves.append(threads.submit(pool.aggregators[0].move, 1, every, pool.peer(2)))
            if rank == 1 and step == 7:
                killed.wait()  # Between two steps, so that every tensor can depart.
            if rank == 0 and step == 7:
                moves[0].result(60)
                for dead in (0, 2):
                    pool.aggregators[dead].close()
                pool.aggregators[1].promote(1, every)
                pool.table.move(every, 1)
                killed.set()

        found = TRAINING.run(pool.table, on_step)
        values, state = TRAINING.with_torch()
        assert all(same(own, values) and same_state(own_state, state) for own, own_state in found)


def test_the_last_joint_copy_survives(pool: AggregatorPool) -> None:
    training = replace(TRAINING, workers=1, steps=1)
    agent = NumpyAgent(pool.table, 0, 1)
    values = training.initial()
    agent.initialise(training.specs, training.spec, values)
    victim = pool.table.table.aggregator_of[0] if pool.table.table else 0
    tensors = pool.table.on(victim)
    pool.aggregators[victim].replicate(1, tensors, pool.peer(1 - victim))
    agent.broadcast([np.arange(3)])
    pool.aggregators[victim].close()
    pool.aggregators[1 - victim].promote(1, tensors)
    pool.table.move(tensors, 1 - victim)
    agent.broadcast([np.arange(4)])
    agent.close()
