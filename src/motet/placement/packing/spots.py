"""Where gangs of every kind would run, as far as that is known, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Floats, Ints
from motet.placement.packing.alignment import GPUS, Space, best_spot


class Spots(NamedTuple):
    """By kind: `machines` and `counts` from `first[kind]` on, `used[kind]` of them.

    `is_known`: gangs would still run there. `alignment`: how well they fit there; where that is not
    known, a bound. `most`: a bound from now on, whatever else starts.
    """

    first: Ints
    machines: Ints
    counts: Ints
    used: Ints
    is_known: Bools
    alignment: Floats
    most: Floats

    @classmethod
    def unknown(cls, needed: Ints, machines: int) -> Spots:
        """Nobody has looked. `needed`: `(kinds, resources)`."""
        kinds = len(needed)
        first = np.append(0, np.cumsum(np.minimum(needed[:, GPUS], machines)))
        machines_of, counts = np.zeros((2, first[-1]), np.int64)
        alignment, most = np.zeros((2, kinds))
        used, is_known = np.zeros(kinds, np.int64), np.zeros(kinds, np.bool_)
        return cls(first, machines_of, counts, used, is_known, alignment, most)


@njit(cache=True)
def look(kind: int, needed: Ints, spots: Spots, space: Space) -> None:
    """Where gangs of this kind would run now. `needed`: `(kinds, resources)`."""
    here = slice(spots.first[kind], spots.first[kind + 1])
    used, alignment, most = best_spot(needed[kind], space, spots.machines[here], spots.counts[here])
    spots.used[kind], spots.is_known[kind] = used, True
    spots.alignment[kind], spots.most[kind] = alignment, most


@njit(cache=True)
def forget_spots_on(machines: Ints, spots: Spots, space: Space) -> None:
    """Elsewhere the best spot stays the best one: machines only become fuller."""
    has_changed = np.zeros(len(space.size), np.bool_)
    for machine in machines:
        has_changed[machine] = True
    for kind in range(len(spots.used)):
        if spots.is_known[kind] and _is_on(has_changed, kind, spots):
            spots.is_known[kind], spots.alignment[kind] = False, spots.most[kind]


@njit(cache=True)
def _is_on(has_changed: Bools, kind: int, spots: Spots) -> bool:
    for place in range(spots.first[kind], spots.first[kind] + spots.used[kind]):
        if has_changed[spots.machines[place]]:
            return True
    return False
