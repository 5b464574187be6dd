"""What a training job needs from its Aggregators in one iteration, as measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from motet.domain.arrays import Indices, Ints
from motet.domain.errors import BadInput


@dataclass(frozen=True, eq=False)
class AggregationProfile:
    """Measured alone on Aggregators of its own (seed, section 4.3.3.1).

    `iteration_ns`: D_j, the duration of an iteration. `tensor_ns`: `(tensors,)`, e_t, the CPU time
    that the aggregation of each tensor takes in an iteration. `servers`: Aggregators of this
    measurement, the number of parameter servers that the job would have without a shared pool.
    `loss_limit`: the share of its speed that the job must not lose; None: LossLimit of the pool.

    Raises BadInput: a duration is not positive, a limit is not a share, or one Aggregator cannot
    aggregate a tensor within an iteration.
    """

    iteration_ns: int
    tensor_ns: Ints
    servers: int = 1
    loss_limit: float | None = None

    def __post_init__(self) -> None:
        if self.iteration_ns <= 0:
            raise BadInput(f"iteration_ns is {self.iteration_ns}; it must be positive")
        if self.servers < 1:
            raise BadInput(f"servers is {self.servers}; it must be 1 or more")
        if self.loss_limit is not None and not 0 < self.loss_limit <= 1:
            raise BadInput(f"loss_limit is {self.loss_limit}; it must be above 0 and at most 1")
        if not len(self.tensor_ns):
            raise BadInput("tensor_ns is empty; a job has at least one tensor")
        wrong = np.flatnonzero((self.tensor_ns <= 0) | (self.tensor_ns > self.iteration_ns))
        if len(wrong):
            tensor = int(wrong[0])
            raise BadInput(
                f"tensor_ns[{tensor}] is {self.tensor_ns[tensor]}; it must be above 0 and at most "
                f"iteration_ns={self.iteration_ns}, since one Aggregator holds the whole tensor"
            )

    @property
    def tensors(self) -> int:
        """How many tensors the job has."""
        return len(self.tensor_ns)

    @property
    def work_ns(self) -> int:
        """CPU time of all its tensors in an iteration."""
        return int(self.tensor_ns.sum())

    @cached_property
    def longest_first(self) -> Indices:
        """Tensors in the order of their assignment: by e_t descending, then by number."""
        return np.lexsort((np.arange(self.tensors), -self.tensor_ns))
