"""Whether and up to which number more workers make the epochs of a job shorter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from motet.cruise.search.solver import CostCurve
from motet.estimate.epoch_cost import Fleet, Profile

NEARLY = 1.1


@dataclass(frozen=True)
class WorkerGain:
    """`alone_s`: predicted epoch on one machine of the fastest type, which exchanges nothing.

    `up_to`: the number of workers with the shortest epoch of the curve, `epoch_s`; 1 if no number
    is faster than one machine alone. `next_s`: epoch with the next larger number of the curve; None
    at its end. `nearly`: the smallest number of workers whose epoch is within a tenth of `epoch_s`.
    """

    alone_s: float
    up_to: int
    epoch_s: float
    next_s: float | None
    nearly: int

    @classmethod
    def of(cls, profile: Profile, fleet: Fleet, curve: CostCurve) -> Self:
        """From the best epoch for every number of workers."""
        alone_s = profile.instances * min(kind.comp_s_per_instance for kind in fleet.types)
        workers, epochs_s = curve.workers.tolist(), curve.epoch_s.tolist()
        best = epochs_s.index(min(epochs_s))
        if epochs_s[best] >= alone_s:
            return cls(alone_s, 1, alone_s, epochs_s[best], 1)
        limit_s = NEARLY * epochs_s[best]
        nearly = next(n for n, s in zip(workers, epochs_s, strict=True) if s <= limit_s)
        next_s = epochs_s[best + 1] if best + 1 < len(epochs_s) else None
        return cls(alone_s, workers[best], epochs_s[best], next_s, nearly)

    @property
    def pays(self) -> bool:
        """Whether several machines are faster than one."""
        return self.epoch_s < self.alone_s
