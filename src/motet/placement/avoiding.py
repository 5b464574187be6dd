"""Even placement on as few machines as possible, with slow machines last."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Bools, Ints
from motet.domain.snapshot import Placement
from motet.placement.even import Gangs, place_evenly


def place_avoiding(free_gpus: Ints, slow: Bools, gangs: Gangs) -> list[Placement]:
    """As `place_evenly`, but `slow` machines, `(machines,)`, only hold what the others cannot.

    The largest gangs get the other machines first, since a slow machine costs them most.
    Raises ValueError if too few GPUs are free.
    """
    if not slow.any():
        return place_evenly(free_gpus, gangs)
    found = [Placement((), ())] * len(gangs.gpus)
    left, fast = free_gpus.copy(), np.where(slow, 0, free_gpus)
    fits = _largest_that_fit(gangs.gpus, int(fast.sum()))
    for rows, free in ((np.flatnonzero(fits), fast), (np.flatnonzero(~fits), left)):
        if not len(rows):
            continue
        places = place_evenly(free, Gangs(*(column[rows] for column in gangs)))
        for row, place in zip(rows.tolist(), places, strict=True):
            found[row] = place
            left[list(place.machines)] -= place.counts
    return found


def _largest_that_fit(gpus: Ints, free: int) -> Bools:
    fits = np.zeros(len(gpus), dtype=np.bool_)
    for row in np.argsort(-gpus, kind="stable").tolist():
        fits[row] = gpus[row] <= free
        free -= int(gpus[row]) if fits[row] else 0
    return fits
