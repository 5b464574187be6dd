"""Rules that are compared: which lenders a device asks, which slabs a lender evicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.remote_memory.core.lender_choice import LendersToAsk, lenders_to_ask


@dataclass(frozen=True)
class Strategy:
    """`to_ask`: for a slab. `asks_owners`: for the activity of E' = E more slabs than are to be
    evicted; else slabs are evicted at random."""

    name: str
    to_ask: LendersToAsk
    asks_owners: bool

    def extra(self, evict: int) -> int:
        """E'."""
        return evict if self.asks_owners else 0


def one_of_new(
    without: Sequence[str], with_slabs: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """One lender, of those without a slab of the device if there are any."""
    return _one(without or with_slabs, rng)


def one_of_all(
    without: Sequence[str], with_slabs: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """One lender at random."""
    return _one([*without, *with_slabs], rng)


def _one(names: Sequence[str], rng: np.random.Generator) -> list[str]:
    return [names[int(rng.integers(len(names)))]] if names else []


STRATEGIES = (
    Strategy("two choices, batch eviction", lenders_to_ask, asks_owners=True),
    Strategy("two choices, random eviction", lenders_to_ask, asks_owners=False),
    Strategy("one choice, batch eviction", one_of_new, asks_owners=True),
    Strategy("random lender, random eviction", one_of_all, asks_owners=False),
)
