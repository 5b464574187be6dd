"""What an Agent has collected and not sent yet: small tensors travel together.

A payload of several tensors is a copy of them, made by each end. So one that is not small travels
alone if it is in memory that Aggregators of this host access as it is: that of `NumpyAgent.empty`.
Other memory is copied in any case; there, tensors travel alone that fill a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from numpy.typing import NDArray

from motet.aggregation.agent.tensor_calls import TensorOperation
from motet.aggregation.wire.message_kinds import AggregatorRequest

PUSH_BATCH_BYTES = 1 << 20
PULL_BATCH_BYTES = 1 << 20
ALONE_FROM_BYTES = 1 << 18
"""A copy of so many bytes takes longer than a message of their own."""

AnswerKind: TypeAlias = tuple[AggregatorRequest, bool]
"""A kind of request, and whether its tensors are halved."""


class PushedGradient(NamedTuple):
    """The latest gradient of a tensor. `ordinal`: which push of its step it was."""

    step: int
    ordinal: int
    gradient: NDArray[Any]


@dataclass(eq=False)
class TensorBatch:
    """Small tensors that travel together, all of them halved or none."""

    is_halved: bool = False
    tensors: dict[int, NDArray[Any]] = field(default_factory=dict)
    size_bytes: int = 0

    def add(self, tensor: int, array: NDArray[Any]) -> None:
        """The last array of a tensor counts."""
        if tensor not in self.tensors:
            self.size_bytes += array.nbytes
        self.tensors[tensor] = array


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
