"""A gradient service of one thread per worker and one lock: what any other is compared with.

It adds gradients in the order of ranks and runs torch.optim on each tensor.
"""

from __future__ import annotations

import math
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from motet.aggregation.agent.tensor_bucket import BucketMemory, TensorBucket
from motet.aggregation.wire.tensor_spec import GroupOptions, OptimizerSpec, TensorSpec
from motet.domain.errors import BadInput
from motet.torch.array_views import array_of, tensor_of

_ARRAYS = {"float32": np.float32, "float64": np.float64, "bfloat16": np.uint16}
_KINDS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


@dataclass
class _Step:
    """What has arrived of one step."""

    pushed: dict[int, dict[int, torch.Tensor]] = field(default_factory=lambda: defaultdict(dict))
    asked: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    ended: dict[int, tuple[Sequence[GroupOptions], bool]] = field(default_factory=dict)


class _Job:
    """The tensors of one job, their optimizers, and the requests that wait."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.lock = threading.Lock()
        self.specs: Sequence[TensorSpec] | None = None
        self.version = 0
        self.steps: dict[int, _Step] = defaultdict(_Step)
        self.gathered: dict[object, dict[int, Any]] = defaultdict(dict)
        self.waiting: list[tuple[Callable[[], bool], Callable[[], None]]] = []

    def initialise(self, specs: Sequence[TensorSpec], kind: OptimizerSpec, values: Any) -> None:
        if self.specs is not None:
            return
        self.specs, self.kind = specs, kind
        given = values or [np.zeros(spec.shape, _ARRAYS[spec.dtype]) for spec in specs]
        self.values = [torch.nn.Parameter(tensor_of(value)) for value in given]
        self.optimizers = [self._optimizer(index) for index in range(len(specs))]

    def mean(self, step: int, tensor: int) -> NDArray[Any] | None:
        """None: someone has neither pushed nor asked nor ended."""
        at = self.steps[step]
        if any(
            rank not in at.pushed[tensor] and rank not in at.asked[tensor] and rank not in at.ended
            for rank in range(self.workers)
        ):
            return None
        return array_of(self._sum(at, tensor).div_(self.workers))

    def apply_ended(self) -> None:
        while len(self.steps[self.version + 1].ended) == self.workers:
            at = self.steps[self.version + 1]
            groups, is_applied = at.ended[0]
            for tensor in at.pushed if is_applied else ():
                self._update(at, tensor, groups)
            self.version += 1

    def load(self, values: Sequence[Any], states: Sequence[Mapping[str, Any]], first: int) -> None:
        for index, (value, state) in enumerate(zip(values, states, strict=True), first):
            self.values[index].data = tensor_of(value)
            self.optimizers[index] = self._optimizer(index)
            if state and self.optimizers[index]:
                own = {name: tensor_of(array) for name, array in state.items()}
                self.optimizers[index].state[self.values[index]] = own

    def state(self) -> list[dict[str, NDArray[Any]]]:
        return [
            {
                name: array_of(value).copy()
                for name, value in optimizer.state[parameter].items()
                if value is not None
            }
            if optimizer
            else {}
            for optimizer, parameter in zip(self.optimizers, self.values, strict=True)
        ]

    def answer_waiting(self) -> None:
        for each in [*self.waiting]:
            is_ready, answer = each
            if is_ready():
                self.waiting.remove(each)
                answer()

    def _optimizer(self, index: int) -> Any:
        if self.kind.kind == "none":
            return None
        options = dict(self.kind.groups[self.specs[index].group])
        return _KINDS[self.kind.kind]([self.values[index]], **options)

    def _update(self, at: _Step, tensor: int, groups: Sequence[GroupOptions]) -> None:
        optimizer, parameter = self.optimizers[tensor], self.values[tensor]
        if not at.pushed[tensor] or not optimizer:
            return
        optimizer.param_groups[0].update(groups[self.specs[tensor].group])
        parameter.grad = self._sum(at, tensor).div_(self.workers)
        optimizer.step()

    def _sum(self, at: _Step, tensor: int) -> torch.Tensor:
        total = torch.zeros_like(self.values[tensor], requires_grad=False)
        for index, rank in enumerate(sorted(at.pushed[tensor])):
            gradient = at.pushed[tensor][rank]
            total = total.add_(gradient) if index else gradient.clone()
        return total


class ReferenceAggregator:
    """Listens on a Unix socket; serves jobs of any name."""

    def __init__(self, address: str) -> None:
        self._listener = Listener(address, "AF_UNIX", backlog=16)
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        name, rank, workers = connection.recv()
        with self._lock:
            job = self._jobs.setdefault(name, _Job(workers))
        while True:
            try:
                number, step, kind, *rest = connection.recv()
            except (EOFError, OSError):
                return
            with job.lock:
                _Request(job, connection, rank, number, step).handle(kind, *rest)
                job.apply_ended()
                job.answer_waiting()


@dataclass(frozen=True)
class _Request:
    """One message of a worker."""

    job: _Job
    connection: Connection
    rank: int
    number: int
    step: int

    def handle(self, kind: str, *rest: Any) -> None:
        getattr(self, f"_{kind}")(*rest)

    def _answer_when(self, is_ready: Callable[[], bool], answer: Callable[[], object]) -> None:
        self.job.waiting.append((is_ready, lambda: self._send(answer())))

    def _send(self, answer: object) -> None:
        """Called for any worker's request: that of this one may have closed its connection."""
        with suppress(OSError):
            self.connection.send((self.number, answer))

    def _initialise(self, specs: Any, kind: OptimizerSpec, values: Any) -> None:
        job = self.job
        if job.specs is not None and job.specs != specs:
            self._send(BadInput("the workers' tensors differ"))
            return
        if self.rank == 0 or job.specs is not None:
            job.initialise(specs, kind, values)
        self._answer_when(
            lambda: job.specs is not None,
            lambda: (
                job.version,
                [array_of(value).copy() for value in job.values] if values else [],
            ),
        )

    def _push(self, tensor: int, gradient: NDArray[Any]) -> None:
        self.job.steps[self.step].pushed[tensor][self.rank] = tensor_of(gradient)

    def _mean(self, tensor: int) -> None:
        self.job.steps[self.step].asked[tensor].add(self.rank)
        self._answer_when(
            lambda: self.job.mean(self.step, tensor) is not None,
            lambda: self.job.mean(self.step, tensor),
        )

    def _finish(self, groups: Sequence[GroupOptions], is_applied: bool) -> None:
        self.job.steps[self.step].ended[self.rank] = (groups, is_applied)

    def _pull(self, tensor: int) -> None:
        self._answer_when(
            lambda: self.job.version >= self.step - 1,
            lambda: array_of(self.job.values[tensor]).copy(),
        )

    def _state(self) -> None:
        self._answer_when(lambda: self.job.version >= self.step - 1, self.job.state)

    def _gather(self, key: object, given: Any) -> None:
        """Answer with rank 0's part when all have come."""
        parts = self.job.gathered[key]
        parts[self.rank] = given
        if len(parts) == self.job.workers and isinstance(key, tuple) and key[0] == "load":
            self.job.load(*parts[0])
        self._answer_when(lambda: len(parts) == self.job.workers, lambda: parts[0])


class ReferenceAgent:
    """A worker's access to a `ReferenceAggregator`: implements `GradientService`."""

    def __init__(self, address: str, job: str, rank: int, workers: int) -> None:
        self.rank, self.workers = rank, workers
        self.sent: list[tuple[Any, ...]] = []
        self._connection = Client(address, "AF_UNIX")
        self._connection.send((job, rank, workers))
        self._step, self._number, self._gathers = 1, 0, 0
        self._specs: Sequence[TensorSpec] = ()
        self._buckets: dict[tuple[int, ...], TensorBucket] = {}
        self._waiting: dict[int, _Answer] = {}
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    def initialise(
        self,
        tensors: Sequence[TensorSpec],
        optimizer: OptimizerSpec,
        values: Sequence[NDArray[Any]],
    ) -> int:
        self._specs = [*tensors]
        version, found = self._ask("initialise", list(tensors), optimizer, [*values]).result()
        for own, value in zip(values, found, strict=True):
            own[...] = value
        self._step = version + 1
        return int(version)

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Memory of this process alone."""
        return np.empty(shape, dtype)

    @property
    def steps_done(self) -> int:
        return self._step - 1

    def push(self, tensor: int, gradient: NDArray[Any]) -> None:
        self._tell("push", tensor, gradient)

    def mean(self, tensor: int, into: NDArray[Any]) -> _Answer:
        return self._ask("mean", tensor, into=into)

    def finish_step(self, groups: Sequence[GroupOptions], *, is_applied: bool = True) -> int:
        self._tell("finish", [dict(group) for group in groups], is_applied)
        self._step += 1
        return self._step - 1

    def pull(self, tensor: int, into: NDArray[Any], *, keeps_order: bool = False) -> _Answer:
        return self._ask("pull", tensor, into=into)

    def bucket(self, tensors: tuple[int, ...]) -> TensorBucket:
        if tensors not in self._buckets:
            sizes = {tensor: math.prod(self._specs[tensor].shape) for tensor in tensors}
            self._buckets[tensors] = TensorBucket(sizes)
        return self._buckets[tensors]

    def push_bucket(self, memory: BucketMemory, tensors: tuple[int, ...]) -> None:
        for tensor in tensors:
            self.push(tensor, self._part(memory, tensor))

    def bucket_means(self, memory: BucketMemory, tensors: tuple[int, ...]) -> _Answers:
        return _Answers([self.mean(tensor, self._part(memory, tensor)) for tensor in tensors])

    def pull_bucket(
        self, memory: BucketMemory, tensors: tuple[int, ...], *, keeps_order: bool = False
    ) -> _Answers:
        return _Answers([self.pull(tensor, self._part(memory, tensor)) for tensor in tensors])

    def _part(self, memory: BucketMemory, tensor: int) -> NDArray[Any]:
        return memory.array_of(tensor).reshape(self._specs[tensor].shape)

    def flush(self) -> None:
        """Nothing is kept."""

    def prioritise(self, tensors: Sequence[int]) -> None:
        """Answers are not ordered."""

    def state(self) -> Sequence[Mapping[str, NDArray[np.generic]]]:
        return self._ask("state").result()

    def load(
        self,
        values: Sequence[NDArray[Any]],
        state: Sequence[Mapping[str, NDArray[np.generic]]],
        first: int = 0,
    ) -> None:
        self._gather("load", ([*values], [*state], first))

    def broadcast(
        self, arrays: Sequence[NDArray[Any]], fill: Callable[[], None] | None = None
    ) -> bool:
        if fill is not None and self.rank == 0:
            fill()
        for own, found in zip(arrays, self._gather("broadcast", [*arrays]), strict=True):
            own[...] = found
        return self.rank > 0

    def close(self) -> None:
        if self._connection.closed:
            return
        family, kind = socket.AF_UNIX, socket.SOCK_STREAM
        with socket.fromfd(self._connection.fileno(), family, kind) as same:
            same.shutdown(socket.SHUT_RDWR)
        # It would read answers of the next connection, which gets this one's number.
        self._receiver.join()
        self._connection.close()

    def _gather(self, kind: str, given: Any) -> Any:
        self._gathers += 1
        return self._ask("gather", (kind, self._gathers), given).result()

    def _tell(self, *message: Any) -> int:
        self.sent.append(message[:2])
        self._number += 1
        self._connection.send((self._number, self._step, *message))
        return self._number

    def _ask(self, *message: Any, into: NDArray[Any] | None = None) -> _Answer:
        answer = self._waiting[self._number + 1] = _Answer(into)
        self._tell(*message)
        return answer

    def _receive(self) -> None:
        while True:
            try:
                number, found = self._connection.recv()
            except (EOFError, OSError, TypeError):
                return
            self._waiting.pop(number).come(found)


class _Answer:
    """An answer that comes: `Pending`."""

    def __init__(self, into: NDArray[Any] | None) -> None:
        self._into, self._found, self._event = into, None, threading.Event()

    def come(self, found: Any) -> None:
        if self._into is not None:
            self._into[...] = found
        self._found = found
        self._event.set()

    def wait(self, timeout_s: float | None = None) -> None:
        if not self._event.wait(timeout_s):
            raise TimeoutError
        if isinstance(self._found, Exception):
            raise self._found

    def result(self) -> Any:
        self.wait()
        return self._found


@dataclass(frozen=True)
class _Answers:
    """Several of them: `Pending`."""

    all: Sequence[_Answer]

    def wait(self, timeout_s: float | None = None) -> None:
        for each in self.all:
            each.wait(timeout_s)
