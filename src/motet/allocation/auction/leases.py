"""The part of an award of whole GPUs that a winner keeps: a fraction of the lease time, or the
whole lease with some probability.

Both give the winner the utility c_i v_i on average, as if GPUs were divisible.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.allocation.auction.rounds import Award

DEFAULT_LEASE_US = 600_000_000


def kept_us(award: Award, lease_us: int = DEFAULT_LEASE_US) -> int:
    """Lease duration of the winner, c_i of a full lease; afterwards the GPUs are free again."""
    return round(award.kept * lease_us)


def by_lot(awards: Sequence[Award], rng: np.random.Generator) -> tuple[Award, ...]:
    """Awards kept for a whole lease: each with probability c_i."""
    drawn = rng.random(len(awards))
    return tuple(award for award, lot in zip(awards, drawn, strict=True) if lot < award.kept)
