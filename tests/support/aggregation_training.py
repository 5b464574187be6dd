"""Trainings on Aggregators, and the same ones with torch.optim on one machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from motet.aggregation.agent.numpy_agent import NumpyAgent
from motet.aggregation.agent.routes import FixedRoutes, TensorRoutes
from motet.aggregation.agent.tensor_bucket import BucketMemory
from motet.aggregation.aggregator.aggregator import Aggregator
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.aggregation.wire.tensor_spec import (
    GroupOptions,
    OptimizerKind,
    OptimizerSpec,
    TensorSpec,
)
from motet.transport import Endpoint, new_secret

TIMEOUT_S = 120.0
QUOTA_BYTES = 1 << 30
Values = list[NDArray[Any]]
OPTIMIZERS: Mapping[str, Any] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
}


class RouteTable:
    """A mapping table that tests change; Agents see it after an Aggregator was lost."""

    def __init__(self, job: int, secret: bytes, endpoints: Sequence[Endpoint]) -> None:
        self._first = FixedRoutes(job, secret, endpoints)
        self._lock = threading.Lock()
        self.table: TensorRoutes | None = None

    def routes(self, tensors: Sequence[TensorSpec]) -> TensorRoutes:
        """See RouteSource."""
        with self._lock:
            if self.table is None:
                self.table = self._first.routes(tensors)
            return self.table

    def refresh(self, known: TensorRoutes) -> TensorRoutes:
        """See RouteSource."""
        with self._lock:
            return self.table or known

    def leave(self, steps: int) -> None:
        """See RouteSource."""

    def on(self, aggregator: int) -> list[int]:
        """The tensors there."""
        assert self.table is not None
        return [n for n, found in enumerate(self.table.aggregator_of) if found == aggregator]

    def move(self, tensors: Sequence[int], aggregator: int) -> None:
        """From now on they are there."""
        with self._lock:
            assert self.table is not None
            places = list(self.table.aggregator_of)
            for tensor in tensors:
                places[tensor] = aggregator
            self.table = replace(self.table, aggregator_of=tuple(places))


class AggregatorPool:
    """Aggregators in this process, with one job open on all of them."""

    def __init__(self, count: int, job: int = 1, quota_bytes: int = QUOTA_BYTES) -> None:
        self.pool_secret = new_secret()
        self.job = job
        self.secret = new_secret()
        self.aggregators = [Aggregator(self.pool_secret, workers_know_s=0.5) for _ in range(count)]
        self.open_job(job, self.secret, quota_bytes)
        self.table = self.new_table()

    def open_job(self, job: int, secret: bytes, quota_bytes: int = QUOTA_BYTES) -> None:
        for aggregator in self.aggregators:
            aggregator.open_job(JobAccess(job, f"job {job}", secret, quota_bytes))

    def new_table(self) -> RouteTable:
        return RouteTable(self.job, self.secret, [a.endpoint for a in self.aggregators])

    def peer(self, aggregator: int) -> str:
        return self.aggregators[aggregator].endpoint.encode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for aggregator in self.aggregators:
            aggregator.close()


@dataclass(frozen=True)
class SmallTraining:
    """A training whose gradients depend on the values, the worker and the step.

    `skipped`: steps and tensors without a gradient. `lr`: of each step. `in_bucket`: all tensors
    are in one, with shapes without zeros.
    """

    shapes: tuple[tuple[int, ...], ...] = ((3, 4), (5,), (), (40, 50))
    kind: OptimizerKind = "sgd"
    options: GroupOptions = field(default_factory=lambda: {"lr": 0.1, "momentum": 0.9})
    steps: int = 8
    workers: int = 2
    dtype: str = "float32"
    skipped: frozenset[tuple[int, int]] = frozenset()
    seed: int = 0
    in_bucket: bool = False

    @property
    def specs(self) -> list[TensorSpec]:
        return [TensorSpec(f"t{n}", s, self.dtype, 0) for n, s in enumerate(self.shapes)]

    @property
    def spec(self) -> OptimizerSpec:
        return OptimizerSpec(self.kind, (self.options,))

    @property
    def numpy_dtype(self) -> Any:
        return {"float32": np.float32, "float64": np.float64, "bfloat16": np.uint16}[self.dtype]

    def initial(self) -> Values:
        random = np.random.default_rng(self.seed)
        return [_typed(random.standard_normal(shape), self.dtype) for shape in self.shapes]

    def gradient(self, values: Values, rank: int, step: int, tensor: int) -> NDArray[Any]:
        random = np.random.default_rng((self.seed, rank, step, tensor))
        noise = _typed(random.standard_normal(self.shapes[tensor]), self.dtype)
        if self.dtype == "bfloat16":
            return noise
        pull = values[tensor] * noise.dtype.type(0.1)
        return np.asarray(pull + noise, noise.dtype)

    def options_in(self, step: int) -> GroupOptions:
        return dict(self.options) | {"lr": 0.1 / step}

    def with_torch(self) -> tuple[Values, list[dict[str, NDArray[Any]]]]:
        """Values and state after all steps, of gradients summed in the order of ranks."""
        values = [_torch(value, self.dtype) for value in self.initial()]
        optimizer = OPTIMIZERS[self.kind]([torch.nn.Parameter(v) for v in values], **self.options)
        parameters = optimizer.param_groups[0]["params"]
        for step in range(1, self.steps + 1):
            optimizer.param_groups[0].update(self.options_in(step))
            now = [_array(p) for p in parameters]
            for number, parameter in enumerate(parameters):
                parameter.grad = None
                if (step, number) not in self.skipped:
                    total = torch.zeros_like(parameter)
                    for rank in range(self.workers):
                        gradient = self.gradient(now, rank, step, number)
                        own = _torch(gradient, self.dtype)
                        total = own if rank == 0 else total + own
                    parameter.grad = total / self.workers
            optimizer.step()
        state = [
            {name: _array(value) for name, value in optimizer.state[p].items() if value is not None}
            for p in parameters
        ]
        return [_array(p) for p in parameters], state

    def run(
        self,
        table: RouteTable,
        on_step: Callable[[int, int], None] = lambda rank, step: None,
        ranks: Sequence[int] | None = None,
    ) -> list[tuple[Values, Any]]:
        """Each worker's values and state after all steps, with a thread per worker.

        `on_step(rank, step)`: before a worker's step.
        """
        chosen = range(self.workers) if ranks is None else ranks
        with ExitStack() as stack:
            threads = stack.enter_context(ThreadPoolExecutor(len(chosen)))
            agents = [NumpyAgent(table, rank, self.workers) for rank in chosen]
            for agent in agents:
                stack.callback(agent.close)
            runs = [threads.submit(self._work, agent, on_step) for agent in agents]
            return [run.result(TIMEOUT_S) for run in runs]

    def _work(self, agent: NumpyAgent, on_step: Callable[[int, int], None]) -> tuple[Values, Any]:
        values = [np.array(v) if agent.rank == 0 else np.zeros_like(v) for v in self.initial()]
        done = agent.initialise(self.specs, self.spec, values)
        for step in range(done + 1, self.steps + 1):
            on_step(agent.rank, step)
            self.push_all(agent, values, step)
            agent.finish_step([self.options_in(step)])
            self.pull(agent, values)
        return [value.copy() for value in values], agent.state()

    def pull(self, agent: NumpyAgent, values: Values) -> None:
        if not self.in_bucket:
            pull_all(agent, values)
            return
        memory = self._memory(agent)
        agent.pull_bucket(memory, memory.bucket.numbers).wait(TIMEOUT_S)
        for number, value in enumerate(values):
            value[...] = memory.array_of(number).reshape(value.shape)

    def _memory(self, agent: NumpyAgent) -> BucketMemory:
        bucket = agent.bucket(tuple(range(len(self.shapes))))
        return BucketMemory(bucket, agent.empty(bucket.size, self.numpy_dtype))

    def push_all(self, agent: NumpyAgent, values: Values, step: int) -> None:
        if self.in_bucket:
            memory = self._memory(agent)
            pushed = [n for n in memory.bucket.numbers if (step, n) not in self.skipped]
            for n in pushed:
                memory.array_of(n)[:] = self.gradient(values, agent.rank, step, n).reshape(-1)
            agent.push_bucket(memory, tuple(pushed))
            return
        for tensor in reversed(range(len(self.shapes))):
            if (step, tensor) not in self.skipped:
                agent.push(tensor, self.gradient(values, agent.rank, step, tensor))


def pull_all(agent: NumpyAgent, values: Values) -> None:
    for pending in [agent.pull(tensor, into) for tensor, into in enumerate(values)]:
        pending.wait(TIMEOUT_S)


def same(first: Sequence[NDArray[Any]], second: Sequence[NDArray[Any]]) -> bool:
    """To the bit."""
    return len(first) == len(second) and all(map(np.array_equal, first, second))


def same_state(first: Any, second: Any) -> bool:
    return len(first) == len(second) and all(
        a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in zip(first, second, strict=True)
    )


def _typed(values: Any, dtype: str) -> NDArray[Any]:
    if dtype == "bfloat16":
        return _array(torch.from_numpy(np.asarray(values)).to(torch.bfloat16))
    return np.asarray(values, dtype)


def _torch(value: NDArray[Any], dtype: str) -> Any:
    tensor = torch.from_numpy(value.copy())
    return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor


def _array(tensor: Any) -> NDArray[Any]:
    detached = tensor.detach()
    if detached.dtype == torch.bfloat16:
        detached = detached.view(torch.uint16)
    array: NDArray[Any] = detached.numpy().copy()
    return array
