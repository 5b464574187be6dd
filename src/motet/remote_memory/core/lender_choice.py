"""Which lenders a device asks for a slab: two of those that have none of its slabs yet (2.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

CHOICES = 2


def lenders_to_ask(
    without: Sequence[str], with_slabs: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Two lenders at random, those without a slab of this device first.

    If only one has none yet, the other is of those with slabs, so that the fuller one is not taken
    for want of a choice.
    """
    first = _drawn(without, CHOICES, rng)
    return first + _drawn(with_slabs, CHOICES - len(first), rng)


def most_free(free_slabs: Mapping[str, int]) -> str | None:
    """The lender with the most free slabs, the first of equal ones; None: no one has any."""
    best = max(free_slabs, key=lambda name: free_slabs[name], default=None)
    return best if best is not None and free_slabs[best] > 0 else None


def _drawn(names: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    order = rng.permutation(len(names))[:count]
    return [names[place] for place in order.tolist()]
