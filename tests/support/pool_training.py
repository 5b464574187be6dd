"""Workers that train by a pool of Aggregators, each on a thread of the test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from motet.aggregation.agent.pool_agent import join_pool
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.domain.arrays import Array

WEIGHTS, LR = 64, 0.01
TENSORS = (TensorSpec("w", (WEIGHTS,)), TensorSpec("b", (1,)))
GROUP = {"lr": LR}


class Finish:
    """The last step of workers that are at most a step apart."""

    def __init__(self, step: int = 10**9) -> None:
        self.step = step


class PoolWorker:
    """A worker that trains until its finish; `after_step(step)` is called after each step."""

    def __init__(
        self,
        address: Path,
        rank: int,
        workers: int,
        finish: Finish,
        after_step: Callable[[int], None] = lambda step: None,
        name: str = "line",
    ) -> None:
        self._agent = join_pool(name, rank, workers, address=address)
        self._rank, self._finish, self._after_step = rank, finish, after_step
        self.steps = 0
        self.values: list[Array] = [np.zeros(WEIGHTS, np.float32), np.zeros(1, np.float32)]
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def result(self) -> list[Array]:
        self._thread.join(120.0)
        assert not self._thread.is_alive(), "the worker does not end"
        if self.error is not None:
            raise self.error
        return self.values

    def _run(self) -> None:
        try:
            done = self._agent.initialise(TENSORS, OptimizerSpec("sgd", (GROUP,)), self.values)
            for step in count(done + 1):
                if step > self._finish.step:
                    break
                for tensor, gradient in enumerate(gradients(self.values, self._rank, step)):
                    self._agent.push(tensor, gradient)
                self._agent.finish_step([GROUP])
                for tensor, value in enumerate(self.values):
                    self._agent.pull(tensor, value).wait(120.0)
                self.steps = step
                self._after_step(step)
            self._agent.close()
        except BaseException as error:
            self.error = error


def gradients(values: Sequence[Array], rank: int, step: int) -> list[Array]:
    """Of this worker in a step: the same in each run, and of a size that shows a missing one."""
    noise = np.random.default_rng((rank, step)).normal(size=WEIGHTS + 1).astype(np.float32)
    return [
        np.float32(0.1) * value + part
        for value, part in zip(values, np.split(noise, [WEIGHTS]), strict=True)
    ]


def alone(workers: int, steps: int) -> list[Array]:
    """What the workers' training ends with, computed by one process."""
    values: list[Array] = [np.zeros(WEIGHTS, np.float32), np.zeros(1, np.float32)]
    for step in range(1, steps + 1):
        found = [gradients(values, rank, step) for rank in range(workers)]
        for tensor, own in enumerate(zip(*found, strict=True)):
            values[tensor] = values[tensor] - np.float32(LR) * (sum(own) / np.float32(workers))
    return values
