"""How many pages of each slab devices read and write, second by second.

Most slabs of a program are used much less than a few. Each slab has a rate of its own, which
changes now and then, as phases of a program do.
"""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Floats, Ints

MEDIAN_PAGES = 60.0
"""Per second. The chapter states no such rate; three times HotSlab."""
SPREAD = 1.5
"""Of the rate's logarithm: one slab in ten has more than seven times the median."""
PHASE_S = 60.0


class PagingRates:
    """Of `slabs` slabs on each of `machines` devices."""

    def __init__(self, machines: int, slabs: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._rates: Floats = self._drawn(machines * slabs).reshape(machines, slabs)

    def advance(self, used_slabs: Ints) -> Ints:
        """Pages in the next second, `(machines, slabs)`; `used_slabs`: by machine, the first ones
        of its device are used."""
        changes = self._rng.random(self._rates.shape) < 1 / PHASE_S
        self._rates[changes] = self._drawn(int(changes.sum()))
        is_used = np.arange(self._rates.shape[1]) < used_slabs[:, np.newaxis]
        return self._rng.poisson(np.where(is_used, self._rates, 0.0))

    def _drawn(self, count: int) -> Floats:
        return MEDIAN_PAGES * self._rng.lognormal(0.0, SPREAD, count)
