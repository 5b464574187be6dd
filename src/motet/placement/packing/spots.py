"""Best spots of gangs by kind, as far as they are known. Compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Floats, Ints
from motet.placement.packing.alignment import GPUS, Space, best_spot


class Spots(NamedTuple):
    """By kind: `machines` and `counts` from `first[kind]` on, `used[kind]` of them.

    `is_known`: the spot is up to date. `alignment`: alignment at the spot, or a bound if it is not
    known. `most`: an upper bound for all later starts.
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
        """Spots before any evaluation. `needed`: `(kinds, resources)`."""
        kinds = len(needed)
        first = np.append(0, np.cumsum(np.minimum(needed[:, GPUS], machines)))
        machines_of, counts = np.zeros((2, first[-1]), np.int64)
        alignment, most = np.zeros((2, kinds))
        used, is_known = np.zeros(kinds, np.int64), np.zeros(kinds, np.bool_)
        return cls(first, machines_of, counts, used, is_known, alignment, most)


@njit(cache=True)
def evaluate_spot(kind: int, needed: Ints, spots: Spots, space: Space) -> None:
    """Evaluate the best spot of a kind. `needed`: `(kinds, resources)`."""
    here = slice(spots.first[kind], spots.first[kind + 1])
    used, alignment, most = best_spot(needed[kind], space, spots.machines[here], spots.counts[here])
    spots.used[kind], spots.is_known[kind] = used, True
    spots.alignment[kind], spots.most[kind] = alignment, most


@njit(cache=True)
def invalidate_spots_on(machines: Ints, spots: Spots, space: Space) -> None:
    """Invalidate spots on these machines; other spots stay optimal, as machines only
    become fuller.
    """
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
