"""What an Agent has collected and not sent yet: small tensors travel together.

A payload of several tensors is a copy of them, made by each end. So one that is not small travels
alone if it is in memory that Aggregators of this host access as it is: that of `NumpyAgent.empty`.
Other memory is copied in any case; there, tensors travel alone that fill a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.aggregation.agent.tensor_bucket import BucketMemory, TensorMemory
from motet.aggregation.agent.tensor_calls import TensorOperation
from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.aggregation.wire.tensor_spec import TensorSpec

PUSH_BATCH_BYTES = 1 << 20
PULL_BATCH_BYTES = 1 << 20
ALONE_FROM_BYTES = 1 << 18
"""A copy of so many bytes takes longer than a message of their own."""

AnswerKind: TypeAlias = tuple[AggregatorRequest, bool]
"""A kind of request, and whether its tensors are halved."""


def is_halved(spec: TensorSpec, array: NDArray[Any]) -> bool:
    """Whether a tensor of float32 travels as bfloat16."""
    return array.itemsize == 2 and array.dtype == np.uint16 and spec.dtype == "float32"


class PushedGradient(NamedTuple):
    """The latest gradient of a tensor. `ordinal`: which push of its step it was."""

    step: int
    ordinal: int
    gradient: TensorMemory


class PushedGradients:
    """What a worker has pushed: the latest of each tensor, and how often in the step under way."""

    def __init__(self) -> None:
        self._latest: dict[int, PushedGradient] = {}
        self._counts: dict[int, int] = {}

    def __getitem__(self, tensor: int) -> PushedGradient:
        return self._latest[tensor]

    def note(self, step: int, tensors: Sequence[int], memory: TensorMemory) -> None:
        """Tensors were pushed. They get one ordinal: what counts is that it grows."""
        ordinal = max(self.counts(tensors)) + 1
        pushed = PushedGradient(step, ordinal, memory)
        self._latest.update(dict.fromkeys(tensors, pushed))
        self._counts.update(dict.fromkeys(tensors, ordinal))

    def counts(self, tensors: Sequence[int]) -> tuple[int, ...]:
        """The ordinals of their latest pushes in this step; 0: there was none."""
        return tuple(map(self._counts.get, tensors, repeat(0)))

    def of_step(self, tensors: Sequence[int], step: int) -> list[int]:
        """Those whose latest push was in a step."""
        return [n for n in tensors if n in self._latest and self._latest[n].step == step]

    def end_step(self) -> None:
        """Keep the latest gradients: they may be sent again."""
        self._counts.clear()


@dataclass(eq=False)
class TensorBatch:
    """Small tensors that travel together, all of them halved or none."""

    is_halved: bool = False
    tensors: dict[int, TensorMemory] = field(default_factory=dict)
    size_bytes: int = 0

    def add(self, tensor: int, array: NDArray[Any]) -> None:
        """The last array of a tensor counts."""
        if tensor not in self.tensors:
            self.size_bytes += array.nbytes
        self.tensors[tensor] = array

    def add_all(self, tensors: Sequence[int], memory: BucketMemory) -> None:
        """The same for tensors of a bucket, none of which it has."""
        self.size_bytes += memory.array.nbytes
        self.tensors.update(dict.fromkeys(tensors, memory))

    def has_any(self, tensors: Sequence[int]) -> bool:
        """Whether it has one of these tensors."""
        return bool(self.tensors) and not self.tensors.keys().isdisjoint(tensors)

    def takes(self, tensors: Sequence[int], added_bytes: int, most_bytes: int) -> bool:
        """Whether it has none of these tensors, and a message holds them and its own."""
        if not self.tensors:
            return True
        return self.size_bytes + added_bytes <= most_bytes and not self.has_any(tensors)


class Settling(Protocol):
    """The Agent whose answers are pending."""

    def flush(self) -> None:
        """Send what was collected."""
        ...

    def settle(self, operation: TensorOperation, timeout_s: float | None = None) -> None:
        """Wait for an operation's answers."""
        ...


class BatchAnswer:
    """Implements Pending, for all tensors of a batch. `operation`: None until it was sent."""

    def __init__(self, agent: Settling) -> None:
        self._agent = agent
        self.operation: TensorOperation | None = None

    def wait(self, timeout_s: float | None = None) -> None:
        """See Pending."""
        if self.operation is None:
            self._agent.flush()
        assert self.operation is not None
        if self.operation.parts:
            self._agent.settle(self.operation, timeout_s)
