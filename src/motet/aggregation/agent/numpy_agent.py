"""The Agent of one worker: Init, Push and Pull for programs with NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from motet.aggregation.agent.collected_requests import (
    ALONE_FROM_BYTES,
    PULL_BATCH_BYTES,
    PUSH_BATCH_BYTES,
    AnswerKind,
    BatchAnswer,
    PushedGradients,
    TensorBatch,
    is_halved,
)
from motet.aggregation.agent.joint_copies import JointCopies, fixed_operation
from motet.aggregation.agent.registration import initial_values, registered
from motet.aggregation.agent.routes import RouteSource
from motet.aggregation.agent.tensor_bucket import (
    BucketMemory,
    TensorBucket,
    TensorMemory,
    array_in,
    buffers_of,
)
from motet.aggregation.agent.tensor_calls import Message, TensorCalls, TensorOperation
from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.tensor_image import TensorImage, decode_images, encode_images
from motet.aggregation.wire.tensor_spec import GroupOptions, OptimizerSpec, TensorSpec
from motet.aggregation.wire.worker_requests import (
    FinishStep,
    PullMeans,
    PullValues,
    PushGradients,
    WorkerRequest,
)
from motet.domain.errors import BadInput
from motet.transport import Reply


class NumpyAgent:
    """Implements GradientService for NumPy arrays."""

    def __init__(self, source: RouteSource, rank: int, workers: int) -> None:
        """`source`: of the mapping table. `rank`: from 0 to `workers` - 1."""
        self.rank = rank
        self.workers = workers
        self._source = source
        self._calls = TensorCalls(source, rank, self._send_again)
        self._specs: Sequence[TensorSpec] = ()
        self._order: tuple[int, ...] = ()
        self._step = 1
        self._pushed = PushedGradients()
        self._buckets: dict[tuple[int, ...], TensorBucket] = {}
        self._is_mean_known: set[int] = set()
        self._finished: FinishStep | None = None
        self._push_batch = TensorBatch()
        self._waiting: dict[AnswerKind, tuple[TensorBatch, BatchAnswer]] = {}
        self._open_pulls: list[TensorOperation] = []
        self._broadcasts = JointCopies(rank, self._ask)

    @property
    def steps_done(self) -> int:
        """See GradientService."""
        return self._step - 1

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """See GradientService."""
        return self._calls.arena.empty(shape, dtype)

    # -- a training's life -----------------------------------------------------------------------

    def initialise(
        self,
        tensors: Sequence[TensorSpec],
        optimizer: OptimizerSpec,
        values: Sequence[NDArray[Any]],
    ) -> int:
        """See GradientService."""
        if len(values) != len(tensors) and optimizer.kind != "none":
            raise BadInput(f"{len(values)} values for {len(tensors)} tensors")
        self._specs = tuple(tensors)
        self._order = tuple(range(len(self._specs)))
        self._calls.open(self._source.routes(self._specs))
        found = registered(self._calls, self._specs, optimizer, self.rank, self.workers)
        if optimizer.kind == "none":
            done = found.first_step - 1
        else:
            if self.rank == 0:
                initial_values(self._calls, found.without_values, values)
            done = max(min(found.versions.values(), default=0), found.first_step - 1, 0)
        self._step = done + 1
        if optimizer.kind != "none":
            for pending in [self.pull(tensor, into) for tensor, into in enumerate(values)]:
                pending.wait()
        return done

    def state(self) -> Sequence[Mapping[str, NDArray[np.generic]]]:
        """See GradientService."""
        states: dict[int, Mapping[str, NDArray[np.generic]]] = {}

        def keep(tensors: tuple[int, ...], reply: Reply) -> None:
            for image in decode_images(reply.meta, reply.payload):
                states[image.tensor] = {name: array.copy() for name, array in image.state.items()}

        self.flush()
        for tensor in range(len(self._specs)):
            self._ask(self._operation(PullValues, AggregatorRequest.READ_STATE, (tensor,), keep))
        return [states[tensor] for tensor in range(len(self._specs))]

    def load(
        self,
        values: Sequence[NDArray[Any]],
        state: Sequence[Mapping[str, NDArray[np.generic]]],
        first: int = 0,
    ) -> None:
        """See GradientService."""
        self.flush()
        self._settle_pulls()
        self.broadcast([])
        if self.rank == 0:
            for number, (value, own) in enumerate(zip(values, state, strict=True), first):
                image = TensorImage(number, self._step - 1, value, own)
                message = Message(*encode_images([image]))
                self._ask(fixed_operation(AggregatorRequest.LOAD_STATE, number, message))
        self.broadcast([])

    def broadcast(
        self, arrays: Sequence[NDArray[Any]], fill: Callable[[], None] | None = None
    ) -> bool:
        """See GradientService."""
        return self._broadcasts.run(self._step - 1, arrays, fill)

    def close(self) -> None:
        """See GradientService."""
        self._source.leave(self._step - 1)
        self._calls.close()

    # -- steps -----------------------------------------------------------------------------------

    def push(self, tensor: int, gradient: NDArray[Any]) -> None:
        """See GradientService."""
        self._note_push((tensor,), gradient)
        is_alone = self._travels_alone(gradient, PUSH_BATCH_BYTES)
        if is_alone and tensor not in self._push_batch.tensors:
            self._send_pushes((tensor,))
            return
        self._push_batch_for(tensor, gradient).add(tensor, gradient)
        self._flush_full_pushes()

    def push_bucket(self, memory: BucketMemory, tensors: tuple[int, ...]) -> None:
        """See GradientService."""
        self._note_push(tensors, memory)
        if not self._push_batch.takes(tensors, memory.array.nbytes, PUSH_BATCH_BYTES):
            self._flush_pushes()
        self._push_batch_for(tensors[0], memory.array).add_all(tensors, memory)
        self._flush_full_pushes()

    def mean(self, tensor: int, into: NDArray[Any]) -> BatchAnswer:
        """See GradientService."""
        self._is_mean_known.add(tensor)
        if tensor in self._push_batch.tensors:
            self._flush_pushes()
        return self._add_waiting(AggregatorRequest.MEAN, tensor, into)

    def bucket_means(self, memory: BucketMemory, tensors: tuple[int, ...]) -> BatchAnswer:
        """See GradientService."""
        self._is_mean_known.update(tensors)
        if self._push_batch.has_any(tensors):
            self._flush_pushes()
        return self._add_all_waiting(AggregatorRequest.MEAN, tensors, memory)

    def finish_step(self, groups: Sequence[GroupOptions], *, is_applied: bool = True) -> int:
        """See GradientService."""
        if self._waiting or any(each.parts for each in self._open_pulls):
            self.flush()  # Others may wait for it while this worker waits.
        self._settle_pulls()
        self._calls.look()
        tensors = self._order
        counts = self._pushed.counts(tensors)
        self._finished = finished = FinishStep(
            self.rank, self._step, tensors, counts, is_applied, tuple(map(dict, groups)) or None
        )
        last = self._push_batch.tensors
        self._flush_pushes(finished)
        if rest := tuple(tensor for tensor in tensors if tensor not in last):
            self._send_finish(rest)
        self._step += 1
        self._broadcasts.end_step()
        self._pushed.end_step()
        self._is_mean_known.clear()
        return self._step - 1

    def pull(self, tensor: int, into: NDArray[Any], *, keeps_order: bool = False) -> BatchAnswer:
        """See GradientService."""
        return self._add_waiting(AggregatorRequest.PULL, tensor, into, keeps_order=keeps_order)

    def pull_bucket(
        self, memory: BucketMemory, tensors: tuple[int, ...], *, keeps_order: bool = False
    ) -> BatchAnswer:
        """See GradientService."""
        del keeps_order  # It travels with what was collected before it.
        return self._add_all_waiting(AggregatorRequest.PULL, tensors, memory)

    def bucket(self, tensors: tuple[int, ...]) -> TensorBucket:
        """See GradientService. What goes to one Aggregator is one piece of the memory."""
        order = self._calls.by_endpoint(tensors)
        known = self._buckets.get(tensors)
        if known is None or known.order != order:
            sizes = {tensor: math.prod(self._specs[tensor].shape) for tensor in order}
            known = self._buckets[tensors] = TensorBucket(sizes)
        return known

    def prioritise(self, tensors: Sequence[int]) -> None:
        """See GradientService."""
        first = dict.fromkeys(tensors)
        self._order = (*first, *(n for n in range(len(self._specs)) if n not in first))

    def settle(self, operation: TensorOperation, timeout_s: float | None = None) -> None:
        """Wait for an operation's answers."""
        self._flush_pushes()  # Others may wait for them while this worker waits.
        self._calls.settle(operation, timeout_s)

    def flush(self) -> None:
        """Send what was collected."""
        self._flush_pushes()
        for key in list(self._waiting):
            self._flush_waiting(key)

    # -- sending ---------------------------------------------------------------------------------

    def _flush_pushes(self, end: FinishStep | None = None) -> None:
        batch, self._push_batch = self._push_batch, TensorBatch()
        if batch.tensors:
            order = batch.tensors if end is None else [n for n in end.tensors if n in batch.tensors]
            self._send_pushes(tuple(order), end)

    def _send_pushes(self, tensors: tuple[int, ...], end: FinishStep | None = None) -> None:
        """All of one step. `end`: of the step, if they are the last ones."""
        pushed = {tensor: self._pushed[tensor] for tensor in tensors}
        step = pushed[tensors[0]].step
        are_halved = is_halved(self._specs[tensors[0]], array_in(pushed[tensors[0]].gradient))

        def message(found: tuple[int, ...]) -> Message:
            counts = tuple([pushed[tensor].ordinal for tensor in found])
            ending = () if end is None else (True, end.is_applied, end.groups)
            head = PushGradients(self.rank, step, found, counts, are_halved, *ending).encode()
            return Message(head, buffers_of(found, [pushed[tensor].gradient for tensor in found]))

        operation = TensorOperation(AggregatorRequest.PUSH, tensors, message)
        self._calls.submit(operation, is_awaited=False)

    def _send_finish(self, tensors: tuple[int, ...]) -> None:
        finished = self._finished
        assert finished is not None
        counted = dict(zip(finished.tensors, finished.counts, strict=True))

        def message(found: tuple[int, ...]) -> Message:
            counts = tuple([counted[tensor] for tensor in found])
            return Message(replace(finished, tensors=found, counts=counts).encode())

        operation = TensorOperation(AggregatorRequest.FINISH, tensors, message)
        self._calls.submit(operation, is_awaited=False)

    def _send_again(self, tensors: list[int]) -> None:
        """Their Aggregator was lost: what it may not have passed on."""
        for step in (self._step - 1, self._step):
            pushed = self._pushed.of_step(tensors, step)
            pushed = [n for n in pushed if n not in self._push_batch.tensors]
            halved = [
                n for n in pushed if is_halved(self._specs[n], array_in(self._pushed[n].gradient))
            ]
            for same in (tuple(n for n in pushed if n not in halved), tuple(halved)):
                if same:
                    self._send_pushes(same)
        if self._finished is not None:
            self._send_finish(tuple(tensors))

    def _note_push(self, tensors: tuple[int, ...], memory: TensorMemory) -> None:
        if not self._is_mean_known.isdisjoint(tensors):
            known = min(self._is_mean_known.intersection(tensors))
            raise BadInput(f"tensor {known}: its mean of step {self._step} was asked for already")
        self._pushed.note(self._step, tensors, memory)

    def _push_batch_for(self, tensor: int, gradient: NDArray[Any]) -> TensorBatch:
        are_halved = is_halved(self._specs[tensor], gradient)
        if are_halved != self._push_batch.is_halved:
            self._flush_pushes()
            self._push_batch.is_halved = are_halved
        return self._push_batch

    def _flush_full_pushes(self) -> None:
        if self._push_batch.size_bytes >= PUSH_BATCH_BYTES:
            self._flush_pushes()

    def _travels_alone(self, array: NDArray[Any], batch_bytes: int) -> bool:
        if array.nbytes >= batch_bytes:
            return True
        is_small = array.nbytes < ALONE_FROM_BYTES
        return not is_small and self._calls.arena.find(array.data.cast("B")) is not None

    def _add_waiting(
        self,
        kind: AggregatorRequest,
        tensor: int,
        into: NDArray[Any],
        *,
        keeps_order: bool = False,
    ) -> BatchAnswer:
        key = kind, is_halved(self._specs[tensor], into)
        if self._travels_alone(into, PULL_BATCH_BYTES):
            if keeps_order and key in self._waiting:
                self._flush_waiting(key)
            batch, answer = TensorBatch(key[1]), BatchAnswer(self)
            batch.add(tensor, into)
            self._send_waiting(key, batch, answer)
            return answer
        batch, answer = self._waiting_for(key, (tensor,))
        batch.add(tensor, into)
        self._flush_full(key, batch)
        return answer

    def _add_all_waiting(
        self, kind: AggregatorRequest, tensors: tuple[int, ...], memory: BucketMemory
    ) -> BatchAnswer:
        key = kind, is_halved(self._specs[tensors[0]], memory.array)
        batch, answer = self._waiting_for(key, tensors, memory.array.nbytes)
        batch.add_all(tensors, memory)
        self._flush_full(key, batch)
        return answer

    def _waiting_for(
        self, key: AnswerKind, tensors: tuple[int, ...], added_bytes: int = 0
    ) -> tuple[TensorBatch, BatchAnswer]:
        """The batch to which these tensors can be added."""
        found = self._waiting.get(key)
        if found is not None and not found[0].takes(tensors, added_bytes, PULL_BATCH_BYTES):
            self._flush_waiting(key)
            found = None
        if found is None:
            found = self._waiting[key] = TensorBatch(key[1]), BatchAnswer(self)
        return found

    def _flush_full(self, key: AnswerKind, batch: TensorBatch) -> None:
        if batch.size_bytes >= PULL_BATCH_BYTES:
            self._flush_waiting(key)

    def _flush_waiting(self, key: AnswerKind) -> None:
        self._send_waiting(key, *self._waiting.pop(key))

    def _send_waiting(self, key: AnswerKind, batch: TensorBatch, answer: BatchAnswer) -> None:
        kind, are_halved = key
        is_pull = kind == AggregatorRequest.PULL
        request = PullValues if is_pull else partial(PullMeans, is_halved=are_halved)
        operation = self._operation(request, kind, tuple(batch.tensors), None, batch.tensors)
        answer.operation = operation
        self._open_pulls.append(operation)
        self._calls.submit(operation)

    def _operation(
        self,
        request: Callable[..., WorkerRequest],
        kind: AggregatorRequest,
        tensors: tuple[int, ...],
        on_reply: Any = None,
        into: Mapping[int, TensorMemory] | None = None,
    ) -> TensorOperation:
        is_mean = kind == AggregatorRequest.MEAN
        step = self._step if is_mean else self._step - 1
        counts = self._pushed.counts(tensors) if is_mean else (0,) * len(tensors)
        counted = dict(zip(tensors, counts, strict=True))

        def message(found: tuple[int, ...]) -> Message:
            counts = tuple([counted[tensor] for tensor in found])
            head = request(self.rank, step, found, counts).encode()
            places = None if into is None else buffers_of(found, [into[n] for n in found])
            return Message(head, (), places)

        has_locations = kind in (AggregatorRequest.PULL, AggregatorRequest.MEAN)
        return TensorOperation(kind, tensors, message, on_reply, has_locations)

    def _settle_pulls(self) -> None:
        for operation in self._open_pulls:
            self._calls.settle(operation)
        self._open_pulls.clear()

    def _ask(self, operation: TensorOperation) -> None:
        self._calls.submit(operation)
        self._calls.settle(operation)
