"""Which mapped slabs a lender evicts: the E least active of E + E' that it asks for (2.5.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

S = TypeVar("S")


def slabs_to_ask(mapped: Sequence[S], evict: int, extra: int, rng: np.random.Generator) -> list[S]:
    """E + E' of the mapped slabs at random; E' is at most E."""
    count = evict + min(extra, evict)
    return [mapped[place] for place in rng.permutation(len(mapped))[:count].tolist()]


def least_active(asked: Sequence[S], activity: Mapping[S, float], evict: int) -> list[S]:
    """The E least active; an owner without an answer does not use its slab: 0."""
    return sorted(asked, key=lambda slab: activity.get(slab, 0.0))[:evict]


def lightly_active_probability(evict: int, extra: int, busy: float) -> float:
    """That E of E + E' slabs are lightly active, if each is busy with probability `busy`."""
    asked = evict + extra
    return math.fsum(
        math.comb(asked, light) * (1 - busy) ** light * busy ** (asked - light)
        for light in range(evict, asked + 1)
    )
