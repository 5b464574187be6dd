"""How fast jobs run where they are placed, and what a preemption costs.

The load of the machine that hosts a skewed model's largest tensor falls linearly with the number of
the gang's workers beside it (Tiresias' T_i, Gu et al., NSDI 2019, section 3.3.1). So a gang whose
largest part has w workers, where w* could be together, is taken to run

    1 + c * skew^2 * (1 - w / w*)

times as long. The square and c agree with what Tiresias measured: placement mattered for the VGG
family and AlexNet (skew 0.6 to 0.8) but hardly for models with less skew (figure 3), and was worth
a factor of up to 1.67 (section 5.2), reached here by 8 GPUs of VGG on 8 machines instead of 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import microseconds

Ints = NDArray[np.int64]
FULL_SPEED = 10_000
_SHARING_LOSS = 0.95
_SLOWDOWN = 0.67 / 0.77**2 / (1 - 1 / 4)


class ProfiledSpeeds:
    """A `SpeedModel` from model profiles."""

    def __init__(self, sizes: Ints, models: Sequence[ModelProfile], restart_us: int | None) -> None:
        """`sizes`: GPUs of each machine. `restart_us`: None: as the profiles say."""
        self._largest = int(sizes.max())
        self._models = models
        self._restart_us = restart_us

    def speed(self, model: int, placement: Placement) -> int:
        """See SpeedModel."""
        if len(placement.machines) == 1:
            return FULL_SPEED
        together = max(placement.counts) / min(sum(placement.counts), self._largest)
        return round(FULL_SPEED / (1 + _SLOWDOWN * self._profile(model).skew ** 2 * (1 - together)))

    def shared(self, model: int, other: int) -> float:
        """See SpeedModel. Two that keep the GPU busy all the time share it; idle time is filled."""
        busy = self._profile(model).gpu_busy + self._profile(other).gpu_busy
        return min(1.0, 1 / busy) * _SHARING_LOSS

    def resume_cost_us(self, model: int, gpus: int) -> int:
        """See SpeedModel."""
        del gpus
        if self._restart_us is not None:
            return self._restart_us
        return microseconds(self._profile(model).restart_s)

    def _profile(self, model: int) -> ModelProfile:
        return UNKNOWN_MODEL if model == UNKNOWN else self._models[model]
