"""The toy application with COMP that takes a while, in proportion to the instances."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from motet.runtime.core.application import Batch, Step, Update
from toy_app import ToyRegression


class SlowRegression(ToyRegression):
    name: ClassVar[str] = "slow"

    def __init__(self, comp_s_per_instance: float = 1e-3, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.comp_s_per_instance = comp_s_per_instance

    def compute(self, batch: Batch, model: NDArray[np.float64], step: Step) -> Update:
        # What COMP waits for here, a real one computes; machines of this test share one CPU.
        time.sleep(self.comp_s_per_instance * len(batch.rows))
        return super().compute(batch, model, step)
