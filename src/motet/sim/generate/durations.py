"""Distributions of job durations, in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput, UnknownName
from motet.sim.generate.arguments import positive_numbers
from motet.sim.generate.mix import Mix
from motet.sim.generate.samples import read_samples

DURATIONS = (
    "bins",
    "loguniform:LOW_S,HIGH_S",
    "lognormal:MEDIAN_S,SIGMA,MOST_S",
    "empirical:FILE",
    "service:FILE",
)
SHORTEST_S, SHORT_BELOW_S, LONGEST_S = 120.0, 800.0, 7200.0


class Durations(Protocol):
    """A distribution of job durations."""

    def seconds(self, gpus: Ints, mix: Mix, rng: np.random.Generator) -> Floats:
        """`(jobs,)` durations of jobs with these GPUs."""
        ...


@dataclass(frozen=True)
class Bins:
    """Tiresias' bins: log-uniform in 2 to 13.3 min for short jobs, in 13.3 to 120 min for long.

    Stratified: the jobs of one size and bin are spread evenly over the bin, so that seeds change
    the order of jobs rather than the total work.
    """

    def seconds(self, gpus: Ints, mix: Mix, rng: np.random.Generator) -> Floats:
        """See Durations."""
        short = mix.is_short(gpus, rng)
        low = np.where(short, SHORTEST_S, SHORT_BELOW_S)
        high = np.where(short, SHORT_BELOW_S, LONGEST_S)
        return _log_uniform(low, high, _stratified(2 * gpus + short, rng))


@dataclass(frozen=True)
class LogUniform:
    """Log-uniform between two limits."""

    low_s: float
    high_s: float

    def seconds(self, gpus: Ints, mix: Mix, rng: np.random.Generator) -> Floats:
        """See Durations."""
        del mix
        low, high = (np.full(len(gpus), limit) for limit in (self.low_s, self.high_s))
        return _log_uniform(low, high, rng.uniform(size=len(gpus)))


@dataclass(frozen=True)
class LogNormal:
    """`sigma`: standard deviation of the logarithm; 0.5 is narrow, 2 has a long tail. Longer jobs
    end at `most_s`."""

    median_s: float
    sigma: float
    most_s: float = np.inf

    def seconds(self, gpus: Ints, mix: Mix, rng: np.random.Generator) -> Floats:
        """See Durations."""
        del mix
        drawn = rng.lognormal(np.log(self.median_s), self.sigma, len(gpus))
        return np.minimum(drawn, self.most_s)


@dataclass(frozen=True, eq=False)
class Empirical:
    """Draws from samples; `is_service`: samples are GPU-seconds, divided by the job's GPUs."""

    samples_s: Floats
    is_service: bool = False

    def seconds(self, gpus: Ints, mix: Mix, rng: np.random.Generator) -> Floats:
        """See Durations."""
        del mix
        drawn = rng.choice(self.samples_s, len(gpus))
        return drawn / gpus if self.is_service else drawn


def parse_durations(text: str) -> Durations:
    """One of `DURATIONS`, with numbers or a file. Raises BadInput."""
    kind, _, rest = text.partition(":")
    if text == "bins":
        return Bins()
    if kind == "loguniform":
        low, high = positive_numbers("--durations", text, ["LOW_S", "HIGH_S"], 2)
        if low > high:
            raise BadInput(f"--durations {text}: {low:g} is above {high:g}; swap them")
        return LogUniform(low, high)
    if kind == "lognormal":
        return LogNormal(*positive_numbers("--durations", text, ["MEDIAN_S", "SIGMA", "MOST_S"], 2))
    if kind in ("empirical", "service"):
        if not rest:
            raise BadInput(f"--durations {text}: no file; write {kind}:FILE")
        return Empirical(read_samples(Path(rest)), kind == "service")
    raise UnknownName("kind of --durations", kind, [each.partition(":")[0] for each in DURATIONS])


def _stratified(stratum: Ints, rng: np.random.Generator) -> Floats:
    """`(jobs,)` numbers in 0 to 1: of n jobs of a stratum, one in every nth, shuffled."""
    drawn = np.empty(len(stratum))
    for each in np.unique(stratum).tolist():
        rows = np.flatnonzero(stratum == each)
        drawn[rows] = rng.permutation(np.arange(len(rows)) + rng.uniform(size=len(rows)))
        drawn[rows] /= len(rows)
    return drawn


def _log_uniform(low: Floats, high: Floats, quantile: Floats) -> Floats:
    return low * (high / low) ** quantile
