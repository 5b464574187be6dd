"""Where the tensors of a job are, as a value, and where the value comes from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.domain.errors import BadInput
from motet.transport import Endpoint


@dataclass(frozen=True)
class TensorRoutes:
    """The mapping table of a job. `aggregator_of`: by tensor, the position in `aggregators`."""

    job: int
    secret: bytes
    aggregators: tuple[Endpoint, ...]
    aggregator_of: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(not 0 <= n < len(self.aggregators) for n in self.aggregator_of):
            raise BadInput(f"a tensor is on none of {len(self.aggregators)} Aggregators")

    def endpoint_of(self, tensor: int) -> Endpoint:
        """Of the tensor's Aggregator."""
        return self.aggregators[self.aggregator_of[tensor]]


class RouteSource(Protocol):
    """pMaster, or a fixed table."""

    def routes(self, tensors: Sequence[TensorSpec]) -> TensorRoutes:
        """Of a job with these tensors, which are assigned if they were not before."""
        ...

    def refresh(self, known: TensorRoutes) -> TensorRoutes:
        """After an Aggregator was lost: the newest table, which may equal the known one."""
        ...

    def leave(self, steps: int) -> None:
        """The worker has finished these steps and takes part in no further one."""
        ...


class FixedRoutes:
    """Tensors on given Aggregators: the largest first, each to the one with the fewest bytes."""

    def __init__(self, job: int, secret: bytes, aggregators: Sequence[Endpoint]) -> None:
        self._job = job
        self._secret = secret
        self._aggregators = tuple(aggregators)

    def routes(self, tensors: Sequence[TensorSpec]) -> TensorRoutes:
        """See RouteSource."""
        loads = [0] * len(self._aggregators)
        found = [0] * len(tensors)
        sizes = [math.prod(spec.shape) for spec in tensors]
        for tensor in sorted(range(len(tensors)), key=lambda n: -sizes[n]):
            found[tensor] = loads.index(min(loads))
            loads[found[tensor]] += sizes[tensor]
        return TensorRoutes(self._job, self._secret, self._aggregators, tuple(found))

    def refresh(self, known: TensorRoutes) -> TensorRoutes:
        """See RouteSource."""
        return known

    def leave(self, steps: int) -> None:
        """See RouteSource."""
