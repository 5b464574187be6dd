"""What a winner keeps of whole GPUs: some of the time, or all of it with some probability.

Both make a winner's utility c_i v_i on average, as if GPUs could be divided.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.allocation.auction.rounds import Award

DEFAULT_LEASE_US = 600_000_000


def kept_us(award: Award, lease_us: int = DEFAULT_LEASE_US) -> int:
    """How long the winner has its GPUs: c_i of a lease; after that, they are free again."""
    return round(award.kept * lease_us)


def by_lot(awards: Sequence[Award], rng: np.random.Generator) -> tuple[Award, ...]:
    """Those who keep all that they won for a whole lease: each with probability c_i."""
    drawn = rng.random(len(awards))
    return tuple(award for award, lot in zip(awards, drawn, strict=True) if lot < award.kept)
