"""Arrival processes: gaps between consecutive submissions, in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.errors import UnknownName
from motet.sim.generate.arguments import positive_numbers

ARRIVALS = ("poisson:MEAN_S", "bursty:MEAN_S,CV", "every:S")
BURSTY_CV = 4.0


class Arrivals(Protocol):
    """An arrival process."""

    def gaps_s(self, count: int, rng: np.random.Generator) -> Floats:
        """`(count,)` gaps."""
        ...


@dataclass(frozen=True)
class Poisson:
    """Independent arrivals: exponential gaps."""

    mean_s: float

    def gaps_s(self, count: int, rng: np.random.Generator) -> Floats:
        """See Arrivals."""
        return rng.exponential(self.mean_s, count)


@dataclass(frozen=True)
class Bursty:
    """Bursts of arrivals: gamma gaps whose standard deviation is `variation` times their mean."""

    mean_s: float
    variation: float = BURSTY_CV

    def gaps_s(self, count: int, rng: np.random.Generator) -> Floats:
        """See Arrivals."""
        shape = self.variation**-2
        return rng.gamma(shape, self.mean_s / shape, count)


@dataclass(frozen=True)
class Regular:
    """Constant gaps."""

    gap_s: float

    def gaps_s(self, count: int, rng: np.random.Generator) -> Floats:
        """See Arrivals."""
        del rng
        return np.full(count, self.gap_s)


def parse_arrivals(text: str) -> Arrivals:
    """One of `ARRIVALS`, with numbers. Raises BadInput."""
    kind = text.partition(":")[0]
    if kind == "poisson":
        return Poisson(*positive_numbers("--arrivals", text, ["MEAN_S"], 1))
    if kind == "bursty":
        return Bursty(*positive_numbers("--arrivals", text, ["MEAN_S", "CV"], 1))
    if kind == "every":
        return Regular(*positive_numbers("--arrivals", text, ["S"], 1))
    raise UnknownName("kind of --arrivals", kind, ["poisson", "bursty", "every"])
