"""A small tensor of the job by which workers tell each other which parameters they used."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from motet.aggregation.agent.gradient_service import GradientService
from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.torch.patience import wait_for


class Flags:
    """One number per parameter, and one more: the workers' means are positive where any has 1.

    The Aggregators' value of the tensor says in which mode the job is: 1 throughout: they run the
    optimizer. A worker that joins reads it there.
    """

    def __init__(self, number: int) -> None:
        """`number`: of the tensor, which comes after the parameters."""
        self.number = number
        self.value: NDArray[np.float32] = np.zeros(number + 1, np.float32)
        self.is_any_changing = False
        self._outgoing = np.zeros_like(self.value)
        self._incoming = np.zeros_like(self.value)

    @property
    def spec(self) -> TensorSpec:
        """What the Aggregators know of it."""
        return TensorSpec("motet.flags", (self.number + 1,))

    @property
    def is_on_aggregators(self) -> bool:
        """Whether the optimizer of the job runs on the Aggregators."""
        return bool(self.value[0])

    def exchange(
        self, service: GradientService, used: Iterable[int], *, is_changing: bool
    ) -> set[int]:
        """Returns the numbers of the parameters that some worker used.

        `is_changing`: this worker's program changes gradients between `backward` and `step`.
        """
        self._outgoing[:] = 0
        self._outgoing[sorted(used)] = 1
        self._outgoing[-1] = is_changing
        service.push(self.number, self._outgoing)
        pending = service.mean(self.number, self._incoming)
        wait_for(pending, "the end of the other workers' backward")
        self.is_any_changing = bool(self._incoming[-1] > 0)
        return set(np.flatnonzero(self._incoming[:-1] > 0).tolist())
