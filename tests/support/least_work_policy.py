"""A policy that runs the jobs with the fewest steps left, by the engine's estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from motet.allocation.fill import fill
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Snapshot


@dataclass(frozen=True)
class LeastWork(Policy):
    """Jobs without a known end come last."""

    wants_estimates: ClassVar[bool] = True

    def decide(self, snapshot: Snapshot) -> Decision:
        """Whole gangs, those with the least work first."""
        assert snapshot.estimates is not None
        left = np.nan_to_num(snapshot.estimates.steps_left, nan=np.inf)
        order = np.lexsort((snapshot.jobs.number, left))
        filled = fill(order, snapshot.jobs.gpus, snapshot.gpu_count, may_overtake=True)
        return Decision(filled.gpus, filled.reasons)


POLICIES = {"least-work": LeastWork}
