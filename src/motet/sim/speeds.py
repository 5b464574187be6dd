"""How fast jobs run where they are placed, and what a preemption costs.

No published curve says how a spread gang slows down in general. This one knows a model's skew and
agrees with the two things that Tiresias measured (Gu et al., NSDI 2019, figure 3 and section 5.2):
its placement made training up to 1.67 times as fast as a random one (8 GPUs of the VGG family, skew
0.77, on up to 8 machines instead of 2), and placement mattered for the VGG family and AlexNet but
hardly for models with less skew. Hence the square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import microseconds
from motet.placement.machines import fewest_machines

Ints = NDArray[np.int64]
FULL_SPEED = 10_000
_SLOWDOWN = 0.67 / 0.77**2 / (1 - 2 / 8)


class ProfiledSpeeds:
    """A gang on k machines that could be on m runs 1 + c * skew^2 * (1 - m/k) times as long."""

    def __init__(self, sizes: Ints, models: Sequence[ModelProfile], restart_us: int | None) -> None:
        """`sizes`: GPUs of each machine. `restart_us`: None: as the profiles say."""
        self._sizes = sizes
        self._models = models
        self._restart_us = restart_us
        self._fewest: dict[int, int] = {}

    def speed(self, model: int, placement: Placement) -> int:
        """See SpeedModel."""
        used, gpus = len(placement.machines), sum(placement.counts)
        if used == 1:
            return FULL_SPEED
        fewest = self._fewest.setdefault(gpus, fewest_machines(self._sizes, gpus))
        slowdown = 1 + _SLOWDOWN * self._profile(model).skew ** 2 * (1 - fewest / used)
        return round(FULL_SPEED / slowdown)

    def resume_cost_us(self, model: int, gpus: int) -> int:
        """See SpeedModel."""
        del gpus
        if self._restart_us is not None:
            return self._restart_us
        return microseconds(self._profile(model).restart_s)

    def _profile(self, model: int) -> ModelProfile:
        return UNKNOWN_MODEL if model == UNKNOWN else self._models[model]
