"""Joint copies of one worker's arrays: `GradientService.broadcast`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.aggregation.agent.tensor_calls import Message, TensorOperation
from motet.aggregation.wire.job_requests import BroadcastArrays
from motet.aggregation.wire.message_kinds import AggregatorRequest, TensorStatus
from motet.runtime.wire.codec import encode


class JointCopies:
    """Those of one worker, by way of the Aggregator of the first tensor."""

    def __init__(self, rank: int, ask: Callable[[TensorOperation], None]) -> None:
        """`ask`: sends an operation and waits for its answers."""
        self._rank = rank
        self._ask = ask
        self._count = 0

    def run(
        self,
        steps_done: int,
        arrays: Sequence[NDArray[Any]],
        fill: Callable[[], None] | None = None,
    ) -> bool:
        """See GradientService."""
        self._count += 1
        if self._rank and self._takes_part(steps_done, arrays, is_source=False):
            return True
        if fill is not None:
            fill()
        self._takes_part(steps_done, arrays, is_source=True)
        return False

    def end_step(self) -> None:
        """Copies are counted from one step to the next."""
        self._count = 0

    def _takes_part(
        self, steps_done: int, arrays: Sequence[NDArray[Any]], *, is_source: bool
    ) -> bool:
        """In a joint copy; returns False if this worker is to be its source."""
        statuses: list[int] = []
        request = BroadcastArrays(self._rank, steps_done, self._count, 0, is_source)
        head = encode(request)[0]
        filled = [array for array in arrays if array.nbytes]
        if is_source:
            message = Message(head, [np.ascontiguousarray(array) for array in filled])
        else:
            message = Message(head, (), filled or None)
        operation = fixed_operation(AggregatorRequest.BROADCAST, 0, message)
        operation.on_reply = lambda tensors, reply: statuses.append(reply.status)
        self._ask(operation)
        return statuses != [TensorStatus.SEND]


def fixed_operation(kind: AggregatorRequest, tensor: int, message: Message) -> TensorOperation:
    """A request whose message is the same wherever its tensor is."""
    return TensorOperation(kind, (tensor,), lambda found: message)
