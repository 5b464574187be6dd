"""Only the number of GPUs matters: machines are filled from the first on."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motet.domain.snapshot import Placement

Ints = NDArray[np.int64]


class CountPlanner:
    """The first free GPUs. For comparisons with simulators that know no machines."""

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        del model
        return take_in_order(np.arange(len(free_gpus)), free_gpus, gpus)


def take_in_order(machines: Ints, free_gpus: Ints, gpus: int) -> Placement:
    """All free GPUs of each machine in turn until there are `gpus`. Raises ValueError."""
    used, counts, missing = _take(machines, free_gpus, gpus)
    if missing:
        raise ValueError(f"{gpus} GPUs wanted, {gpus - missing} free")
    places = sorted(zip(used.tolist(), counts.tolist(), strict=True))
    return Placement(tuple(m for m, _ in places), tuple(c for _, c in places))


@njit(cache=True)
def _take(machines: Ints, free_gpus: Ints, gpus: int) -> tuple[Ints, Ints, int]:
    used = np.empty(len(machines), np.int64)
    counts = np.empty(len(machines), np.int64)
    size = 0
    for machine in machines:
        if gpus == 0:
            break
        count = min(free_gpus[machine], gpus)
        if count > 0:
            used[size], counts[size] = machine, count
            size += 1
            gpus -= count
    return used[:size], counts[:size], gpus
