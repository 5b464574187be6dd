"""Init: the tensors of a job become known to its Aggregators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from motet.aggregation.agent.tensor_calls import Message, TensorCalls, TensorOperation
from motet.aggregation.wire.job_requests import (
    RegisterTensors,
    TensorsRegistered,
    groups_as_json,
)
from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.tensor_image import TensorImage, encode_images
from motet.aggregation.wire.tensor_spec import OptimizerSpec, TensorSpec
from motet.runtime.wire.codec import decode, encode
from motet.transport import Reply


@dataclass
class Registration:
    """What the Aggregators know. `versions`: by tensor; -1: no values yet. `first_step`: of this
    worker."""

    versions: dict[int, int] = field(default_factory=dict)
    first_step: int = 1

    @property
    def without_values(self) -> list[int]:
        """Tensors whose first values are missing."""
        return [tensor for tensor, version in self.versions.items() if version < 0]


def registered(
    calls: TensorCalls,
    specs: Sequence[TensorSpec],
    optimizer: OptimizerSpec,
    rank: int,
    workers: int,
) -> Registration:
    """Register all tensors. Raises BadInput: other workers have other specifications."""
    found = Registration()

    def message(tensors: tuple[int, ...]) -> Message:
        request = RegisterTensors(
            rank,
            workers,
            optimizer.kind,
            groups_as_json(optimizer),
            tensors,
            tuple(specs[tensor] for tensor in tensors),
        )
        return Message(encode(request)[0])

    def keep(tensors: tuple[int, ...], reply: Reply) -> None:
        answer = decode(TensorsRegistered, reply.meta)
        found.versions |= dict(zip(tensors, answer.versions, strict=True))
        found.first_step = max(found.first_step, answer.first_step)

    every = tuple(range(len(specs)))
    operation = TensorOperation(AggregatorRequest.REGISTER, every, message, keep)
    calls.submit(operation)
    calls.settle(operation)
    return found


def initial_values(
    calls: TensorCalls, tensors: Sequence[int], values: Sequence[NDArray[Any]]
) -> None:
    """Send the first values of tensors."""

    def message(found: tuple[int, ...]) -> Message:
        images = [TensorImage(tensor, 0, values[tensor]) for tensor in found]
        return Message(*encode_images(images))

    operations = [
        TensorOperation(AggregatorRequest.PUT_VALUES, (tensor,), message) for tensor in tensors
    ]
    for operation in operations:
        calls.submit(operation)
    for operation in operations:
        calls.settle(operation)
