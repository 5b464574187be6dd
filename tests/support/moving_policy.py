"""A policy that moves running jobs between machines all the time, and preempts some of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.allocation.fill import fill
from motet.domain.decision import Decision
from motet.domain.policy import Policy
from motet.domain.snapshot import Placement, Snapshot

SECOND_US = 1_000_000


@dataclass(frozen=True)
class Moving(Policy):
    """Fills the machines from the first or from the last one, by the second of the decision."""

    def decide(self, snapshot: Snapshot) -> Decision:
        """All jobs that fit, oldest or newest first."""
        jobs, second = snapshot.jobs, snapshot.now_us // SECOND_US
        order = np.argsort(jobs.number)
        if second % 7 == 0:
            order = order[::-1].copy()
        filled = fill(order, jobs.gpus, snapshot.gpu_count, may_overtake=True)
        free = snapshot.cluster.gpus.copy()
        machines = range(len(free)) if second % 2 else range(len(free) - 1, -1, -1)
        places: dict[int, Placement] = {}
        for row in np.flatnonzero(filled.gpus).tolist():
            taken, left = dict[int, int](), int(filled.gpus[row])
            for machine in machines:
                count = min(left, int(free[machine]))
                free[machine] -= count
                left -= count
                if count:
                    taken[machine] = count
            counts = dict(sorted(taken.items()))
            places[row] = Placement(tuple(counts), tuple(counts.values()))
        return Decision(filled.gpus, filled.reasons, places=places)


POLICIES = {"moving": Moving}
