"""Workers of which one is a step ahead of the other, while their tensors move."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from aggregation_training import AggregatorPool, SmallTraining, same
from motet.aggregation.agent.numpy_agent import NumpyAgent
from waiting import wait_until


class TwoSteps:
    """Two workers of a program with its own optimizer, the second one in its first step when the
    first one sends a gradient of tensor `early` for its second step."""

    def __init__(self, pool: AggregatorPool, training: SmallTraining, early: int) -> None:
        self._values, self._early = training.initial(), early
        self._tensors = range(len(training.shapes))
        self._pool = pool
        pool.table.routes(training.specs)
        pool.table.move(self._tensors, 0)
        self.agents = [NumpyAgent(pool.table, rank, 2) for rank in (0, 1)]
        for agent in self.agents:
            agent.initialise(training.specs, training.spec, self._values)
        self._has_pushed_early = False
        self._mover = threading.Thread(
            target=pool.aggregators[0].move,
            args=(1, self._tensors, pool.peer(1)),
            daemon=True,  # It must not keep a test that fails.
        )

    def push_early(self) -> None:
        ahead = self.agents[0]
        tenant = self._pool.aggregators[0].tenant(1)
        before_bytes = tenant.memory_bytes
        ahead.push(self._early, self._values[self._early])
        ahead.flush()
        wait_until(lambda: tenant.memory_bytes > before_bytes)
        self._has_pushed_early = True

    def begin_move(self) -> None:
        self._mover.start()

    def end(self) -> None:
        """Both end their second step, and the move."""
        with ThreadPoolExecutor(2) as threads:
            for step in [threads.submit(self._end_step, agent) for agent in self.agents]:
                step.result(60)
        self._mover.join(60)
        for agent in self.agents:
            agent.close()

    def _end_step(self, agent: NumpyAgent) -> None:
        for tensor in self._tensors:
            is_early = self._has_pushed_early and agent.rank == 0 and tensor == self._early
            if not is_early:
                agent.push(tensor, self._values[tensor])
        means = [np.empty_like(each) for each in self._values]
        for pending in [agent.mean(tensor, into) for tensor, into in enumerate(means)]:
            pending.wait(60)
        assert same(means, self._values)
        agent.finish_step([], is_applied=False)
