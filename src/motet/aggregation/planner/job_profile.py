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
    `link_ns`: `(tensors,)`, the time of each tensor on the link of its Aggregator in an iteration,
    in the busier direction; None: links are not limited.

    Raises BadInput: a duration is not positive, a limit is not a share, or one Aggregator cannot
    aggregate or transfer a tensor within an iteration.
    """

    iteration_ns: int
    tensor_ns: Ints
    servers: int = 1
    loss_limit: float | None = None
    link_ns: Ints | None = None

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
        self._check_link()

    def _check_link(self) -> None:
        if self.link_ns is None:
            return
        if len(self.link_ns) != self.tensors:
            raise BadInput(f"link_ns has {len(self.link_ns)} entries for {self.tensors} tensors")
        wrong = np.flatnonzero((self.link_ns < 0) | (self.link_ns > self.iteration_ns))
        if len(wrong):
            tensor = int(wrong[0])
            raise BadInput(
                f"link_ns[{tensor}] is {self.link_ns[tensor]}; it must be at least 0 and at most "
                f"iteration_ns={self.iteration_ns}"
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
    def needs_ns(self) -> Ints:
        """`(2, tensors)`: CPU time and time on the link of each tensor in an iteration."""
        link_ns = np.zeros_like(self.tensor_ns) if self.link_ns is None else self.link_ns
        return np.stack([self.tensor_ns, link_ns])

    @property
    def need_ns(self) -> int:
        """CPU time or time on the link of all its tensors in an iteration, whichever is longer."""
        return int(self.needs_ns.sum(axis=1).max())

    @cached_property
    def longest_first(self) -> Indices:
        """Tensors in the order of their assignment: by e_t descending, or by the time on the link
        where that is longer, then by number.
        """
        return np.lexsort((np.arange(self.tensors), -self.needs_ns.max(axis=0)))
