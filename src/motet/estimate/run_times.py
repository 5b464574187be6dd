"""How long a job will have run in all: from what its user declared, or from jobs like it. Pure.

The distribution of a job that has run for some time already is that of the jobs that ran longer.
Jobs that have not ended, or were cancelled, count as having run at least so long (Kaplan and Meier,
1958); without them, a cluster that was started recently would know only its short jobs. The job
itself is counted among those at risk. The intervals between the n run times of jobs like it are
then equally probable, 1 / (n + 1) each, as they are for any distribution. Beyond the longest one
is a Pareto tail with the exponent of Hill's estimator (1975); below the shortest one the
distribution is uniform.

What a user declared is a unit: the sample is that of the ratios of run times to declared ones. As
they may be close together, the inverse ratios have a Pareto tail, too (uniform: the exponent 1).
With few ratios nobody knows the tails. The outer two intervals then end at a half and twice of the
declared time, or of a ratio beyond: an assumption, whose weight falls with every job that ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from motet.domain.arrays import Bools, Floats

FEWEST_JOBS = 8
"""Ended jobs that a distribution needs: below that, nothing is known."""
MOST_JOBS = 1000
"""Of a group: the latest ones."""
_HEAVIEST, _LIGHTEST = 1.0, 20.0
LEAST_RATIO, MOST_RATIO = 0.5, 2.0
"""Of run times to declared ones, as long as few are known."""


@dataclass(frozen=True, slots=True)
class ObservedRunTime:
    """A job that ran. `groups`: jobs like it, from the narrowest group to the widest one.

    `has_ended`: by itself; else it needed at least `run_s`. `declared_s`: what its user expected;
    None: nothing.
    """

    groups: tuple[Hashable, ...]
    run_s: float
    has_ended: bool = True
    declared_s: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class RunTimeSample:
    """Run times of jobs, ascending; ends before others of the same length."""

    times: Floats
    has_ended: Bools

    @classmethod
    def of(cls, found: Sequence[tuple[float, bool]]) -> RunTimeSample:
        """From (time, has ended), in any order."""
        times = np.array([each[0] for each in found], np.float64)
        has_ended = np.array([each[1] for each in found], np.bool_)
        order = np.lexsort((~has_ended, times))
        return cls(times[order], has_ended[order])

    @property
    def ended(self) -> int:
        """How many of them have ended."""
        return int(self.has_ended.sum())


@dataclass(frozen=True, eq=False, slots=True)
class _Knots:
    """Run times, the probabilities to end until then, and the exponents of the tails."""

    times: Floats
    shares: Floats
    lower_tail: float
    upper_tail: float


@dataclass(frozen=True, eq=False, slots=True)
class RunTimeCurve:
    """Run times, as logarithms, by the share of jobs that end until then; both ascend. `tails`: the
    exponents below the first and beyond the last share; None: it has none. `ran_s`: the least run
    time."""

    shares: Floats
    log_times: Floats
    ran_s: float
    tails: tuple[float, float] | None = None

    def at(self, share: Any) -> Floats:
        """The run times within which these shares of such jobs end: `(n,)` or a number, each at
        least 0 and below 1."""
        wanted = np.asarray(share, np.float64)
        found = np.asarray(np.exp(np.interp(wanted, self.shares, self.log_times)), np.float64)
        if self.tails is None:
            return found
        first, last = self.shares[0], self.shares[-1]
        lower, upper = self.tails
        if (is_below := wanted < first).any():  # Run times differ by factors.
            least_s = np.exp(self.log_times[0])
            before = (self.ran_s / least_s) ** lower
            part = before + (1 - before) * np.minimum(wanted / first, 1.0)
            found = np.where(is_below, least_s * part ** (1 / lower), found)
        if (is_beyond := wanted > last).any():
            beyond = np.exp(self.log_times[-1]) * ((1 - last) / (1 - wanted)) ** (1 / upper)
            found = np.where(is_beyond, beyond, found)
        return found


@dataclass(frozen=True, eq=False)
class RunTimeForecast:
    """The distribution of a job's run time, `ran_s` or longer. `basis`: names `sample`, by the
    group that it comes from; no two samples have the same. `unit_s`: its unit. `bounds`: where the
    outer intervals of a small sample end, in this unit; None: it is large enough for tails.
    `is_ratio`: the sample is that of ratios to declared times."""

    basis: Hashable
    ran_s: float
    sample: RunTimeSample
    unit_s: float = 1.0
    bounds: tuple[float, float] | None = None
    is_ratio: bool = False

    @classmethod
    def of_sample(cls, basis: Hashable, ran_s: float, sample: RunTimeSample) -> RunTimeForecast:
        """From at least one ended run; the outer intervals of few ones end at a half of the
        shortest and twice the longest of them."""
        if sample.ended >= FEWEST_JOBS:
            return cls(basis, ran_s, sample)
        ended = sample.times[sample.has_ended]
        bounds = LEAST_RATIO * float(ended.min()), MOST_RATIO * float(ended.max())
        return cls(basis, ran_s, sample, 1.0, bounds)

    @classmethod
    def exactly(cls, run_s: float) -> RunTimeForecast:
        """Of a job whose run time is known."""
        return cls("exactly", 0.0, RunTimeSample.of([]), run_s, (1.0, 1.0), True)

    @property
    def is_exact(self) -> bool:
        """Whether the run time is known."""
        return self.bounds is not None and self.bounds[0] == self.bounds[1]

    def quantile(self, share: Any, weights: Floats | None = None) -> Floats:
        """The run times within which these shares of such jobs end.

        `share`: `(n,)` or a number, each at least 0 and below 1. `weights`: see `curve`.
        """
        if self.is_exact:
            return np.full(np.shape(share), self.unit_s)
        return self.curve(weights).at(share)

    def curve(self, weights: Floats | None = None) -> RunTimeCurve:
        """For many quantiles of one distribution. `weights`: of the jobs in `sample`, about 1 each.
        Random ones (Exp(1): the Bayesian bootstrap, Rubin 1981) give the distributions that are as
        plausible as the sample's own."""
        knots = self._knots(weights)
        if self.bounds is not None:
            return self._within_bounds(knots, self.bounds)
        tails = knots.lower_tail, knots.upper_tail
        return RunTimeCurve(knots.shares, np.log(knots.times), self.ran_s, tails)

    def _within_bounds(self, knots: _Knots, bounds: tuple[float, float]) -> RunTimeCurve:
        least, most = (each * self.unit_s for each in bounds)
        least = max(least, self.ran_s)
        times = np.concatenate([[least], np.maximum(knots.times, least), [max(most, least)]])
        shares = np.concatenate([[0.0], knots.shares, [1.0]])
        return RunTimeCurve(shares, np.log(times), self.ran_s)

    @property
    def median_s(self) -> float:
        """Half of such jobs end before."""
        return float(self.quantile(0.5))

    def _knots(self, weights: Floats | None) -> _Knots:
        all_times = self.sample.times * self.unit_s
        first = int(np.searchsorted(all_times, self.ran_s, side="right"))
        times, has_ended = all_times[first:], self.sample.has_ended[first:]
        if not has_ended.any():  # It has run longer than all others.
            if self.bounds is not None:
                return _Knots(np.zeros(0), np.zeros(0), _HEAVIEST, _HEAVIEST)
            return _Knots(
                np.array([max(self.ran_s, all_times[-1])]), np.zeros(1), _HEAVIEST, _HEAVIEST
            )
        weight = np.ones(len(times)) if weights is None else weights[first:]
        at_risk = np.cumsum(weight[::-1])[::-1] + 1  # The job itself is one of them.
        left = np.cumprod(1 - has_ended * weight / at_risk, dtype=np.float64)
        upper = _tail(times, has_ended, weight)
        lower, ended = _HEAVIEST, times[has_ended]
        if self.is_ratio:
            lower = _tail(1 / ended[::-1], np.ones(len(ended), np.bool_), weight[has_ended][::-1])
        return _Knots(ended, 1 - left[has_ended], lower, upper)


class RunTimePredictor:
    """Forecasts from jobs that ran before."""

    def __init__(self, observed: Iterable[ObservedRunTime]) -> None:
        """`observed`: in the order of submission."""
        runs: dict[Hashable, list[tuple[float, bool]]] = defaultdict(list)
        ratios: dict[Hashable, list[tuple[float, bool]]] = defaultdict(list)
        for each in observed:
            for group in each.groups if each.run_s > 0 else ():
                runs[group].append((each.run_s, each.has_ended))
                if each.declared_s:
                    ratios[group].append((each.run_s / each.declared_s, each.has_ended))
        self._runs = {group: _latest(found) for group, found in runs.items()}
        self._ratios = {group: _latest(found) for group, found in ratios.items()}

    def forecast(
        self, groups: Sequence[Hashable], ran_s: float = 0.0, declared_s: float | None = None
    ) -> RunTimeForecast | None:
        """Of a job that has run for `ran_s`. None: too few jobs like it have ended.

        What the user declared is corrected by how jobs like it kept to it, where enough did.
        """
        if declared_s:
            for group in groups:
                if (sample := self._ratios.get(group)) and sample.ended >= FEWEST_JOBS:
                    return RunTimeForecast(("ratios", group), ran_s, sample, declared_s, None, True)
            widest = groups[-1]
            sample = self._ratios.get(widest) or RunTimeSample.of([])
            bounds = _bounds(sample)
            if ran_s < bounds[1] * declared_s:
                return RunTimeForecast(("few", widest), ran_s, sample, declared_s, bounds, True)
        for group in groups:
            if (sample := self._runs.get(group)) and sample.ended >= FEWEST_JOBS:
                return RunTimeForecast(group, ran_s, sample)
        return None


def _latest(found: Sequence[tuple[float, bool]]) -> RunTimeSample:
    return RunTimeSample.of(found[-MOST_JOBS:])


def _bounds(ratios: RunTimeSample) -> tuple[float, float]:
    """Of the ratios of jobs, of which there are too few for tails."""
    ended = ratios.times[ratios.has_ended]
    least, most = float(ended.min(initial=1.0)), float(ended.max(initial=1.0))
    return (
        LEAST_RATIO if least > LEAST_RATIO else LEAST_RATIO * least,
        MOST_RATIO if most < MOST_RATIO else MOST_RATIO * most,
    )


def _tail(times: Floats, has_ended: Bools, weight: Floats) -> float:
    """Hill's estimate over the longer half, within limits; jobs that have not ended make the tail
    heavier."""
    threshold = float(np.median(times[has_ended]))
    longer = times > threshold
    excess = float((weight[longer] * np.log(times[longer] / threshold)).sum())
    ended = float((weight * has_ended)[longer].sum())
    return float(np.clip(ended / excess, _HEAVIEST, _LIGHTEST)) if excess else _LIGHTEST
