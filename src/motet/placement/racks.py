"""Consolidation by racks: links within a rack are faster than links between racks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.snapshot import Placement
from motet.placement.machines import consolidated, fewest_machines
from motet.placement.planner import Planner


def consolidated_in_racks(free_gpus: Ints, gpus: int, rack: Ints) -> Placement:
    """As few racks as possible, and in each as few machines as possible.

    One machine, if one can hold the gang, as `consolidated` chooses it. Otherwise, of the racks
    that can hold it, the one that needs the fewest machines, then the one with the fewest free
    GPUs. If no rack can, all GPUs of the emptiest rack and the rest as above. `rack`: of each
    machine. Raises ValueError if too few GPUs are free.
    """
    if gpus > free_gpus.sum() or gpus <= free_gpus.max():
        return consolidated(free_gpus, gpus)
    taken = np.zeros_like(free_gpus)
    free = np.bincount(rack, free_gpus).astype(np.int64)
    while gpus > 0:
        able = np.flatnonzero(free >= gpus).tolist()
        chosen = min(
            able,
            key=lambda number: (fewest_machines(free_gpus[rack == number], gpus), free[number]),
            default=int(free.argmax()),
        )
        wanted = min(gpus, int(free[chosen]))
        place = consolidated(np.where(rack == chosen, free_gpus, 0), wanted)
        taken[list(place.machines)] = place.counts
        gpus -= wanted
        free[chosen] = 0
    machines = np.flatnonzero(taken)
    return Placement(tuple(machines.tolist()), tuple(taken[machines].tolist()))


@dataclass(frozen=True, eq=False)
class RackPlanner(Planner):
    """Consolidates every gang, within one rack if possible. `rack`: of each machine."""

    rack: Ints

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        del model
        return consolidated_in_racks(free_gpus, gpus, self.rack)
