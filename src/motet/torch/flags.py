"""A small tensor of the job by which workers tell each other which parameters they used.

Its value on the Aggregators tells workers that join what the job is.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from motet.aggregation.agent.gradient_service import GradientService
from motet.aggregation.wire.tensor_spec import TensorSpec
from motet.torch.patience import wait_for

_DIGIT = 1 << 24
"""Smaller whole numbers are exact in float32."""
_PLACE, _HIGH, _LOW = -3, -2, -1


class OptimizerPlace(IntEnum):
    """Where the optimizer of a job runs. UNDECIDED: in the workers until it has been found out
    whether it can run on the Aggregators."""

    UNDECIDED = 0
    AGGREGATORS = 1
    WORKERS = 2


class Flags:
    """A number per parameter, and three more.

    As gradients: 1 for each parameter that was used, and at `_PLACE` if the program changes
    gradients; the workers' means are positive where any has 1. The value, which a worker that joins
    reads: the place of the optimizer at `_PLACE`, and the steps before the job, in two digits.
    """

    def __init__(self, number: int) -> None:
        """`number`: of the tensor, which comes after the parameters."""
        self.number = number
        self.value: NDArray[np.float32] = np.zeros(number + 3, np.float32)
        self.is_any_changing = False
        self._outgoing = np.zeros_like(self.value)
        self._incoming = np.zeros_like(self.value)

    @property
    def spec(self) -> TensorSpec:
        """What the Aggregators know of it."""
        return TensorSpec("motet.flags", self.value.shape)

    @property
    def place(self) -> OptimizerPlace:
        """As the value says."""
        return OptimizerPlace(int(self.value[_PLACE]))

    @place.setter
    def place(self, place: OptimizerPlace) -> None:
        self.value[_PLACE] = place

    @property
    def earlier_steps(self) -> int:
        """Steps that the model had done before the job began."""
        return int(self.value[_HIGH]) * _DIGIT + int(self.value[_LOW])

    @earlier_steps.setter
    def earlier_steps(self, steps: int) -> None:
        self.value[_HIGH], self.value[_LOW] = divmod(steps, _DIGIT)

    def exchange(
        self, service: GradientService, used: Iterable[int], *, is_changing: bool
    ) -> set[int]:
        """Returns the numbers of the parameters that some worker used.

        `is_changing`: this worker's program changes gradients between `backward` and `step`.
        """
        self._outgoing[:] = 0
        self._outgoing[sorted(used)] = 1
        self._outgoing[_PLACE] = is_changing
        service.push(self.number, self._outgoing)
        pending = service.mean(self.number, self._incoming)
        wait_for(pending, "the end of the other workers' backward")
        self.is_any_changing = bool(self._incoming[_PLACE] > 0)
        return set(np.flatnonzero(self._incoming[: self.number] > 0).tolist())
