"""How long a job will have run in all: from what its user declared, or from jobs like it. Pure.

The distribution of a job that has run for some time already is that of the jobs that ran longer.
Jobs that have not ended, or were cancelled, count as having run at least so long (Kaplan and Meier,
1958); without them, a cluster that was started recently would know only its short jobs. The job
itself is counted among those at risk. The intervals between the n run times of jobs like it are
then equally probable, 1 / (n + 1) each, as they are for any distribution; the tail beyond the
longest one is a Pareto tail with the exponent of Hill's estimator (1975).
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


@dataclass(frozen=True, eq=False)
class RunTimeForecast:
    """The distribution of a job's run time, `ran_s` or longer. `basis`: the group that `sample`
    comes from, in units of `unit_s`; None: its user, and it is exactly `ran_s`."""

    basis: Hashable | None
    ran_s: float
    sample: RunTimeSample
    unit_s: float = 1.0

    @property
    def is_exact(self) -> bool:
        """Whether it is what the user declared."""
        return self.basis is None

    def quantile(self, share: Any, weights: Floats | None = None) -> Floats:
        """The run times within which these shares of such jobs end.

        `share`: `(n,)` or a number, each at least 0 and below 1. `weights`: of the jobs in
        `sample`, about 1 each. Random ones (Exp(1): the Bayesian bootstrap, Rubin 1981) give the
        distributions that are as plausible as the sample's own.
        """
        wanted = np.asarray(share, np.float64)
        if self.is_exact:
            return np.full(wanted.shape, self.ran_s)
        times, shares, tail = self._knots(weights)
        knots = np.concatenate([[0.0], shares])
        times = np.concatenate([[self.ran_s], times])
        last, last_share = times[-1], knots[-1]
        inside = np.interp(wanted, knots, times)
        if len(times) > 2:  # Run times differ by factors.
            beyond_first = np.exp(np.interp(wanted, knots[1:], np.log(times[1:])))
            inside = np.where(wanted > knots[1], beyond_first, inside)
        with np.errstate(divide="ignore"):
            outside = last * ((1 - last_share) / (1 - wanted)) ** (1 / tail)
        return np.asarray(np.where(wanted > last_share, outside, inside), np.float64)

    @property
    def median_s(self) -> float:
        """Half of such jobs end before."""
        return float(self.quantile(0.5))

    def _knots(self, weights: Floats | None) -> tuple[Floats, Floats, float]:
        """Run times, the probabilities to end until then, and the exponent of the tail."""
        all_times = self.sample.times * self.unit_s
        first = int(np.searchsorted(all_times, self.ran_s, side="right"))
        times, has_ended = all_times[first:], self.sample.has_ended[first:]
        if not has_ended.any():  # It has run longer than all others.
            return np.array([max(self.ran_s, all_times[-1])]), np.zeros(1), _HEAVIEST
        weight = np.ones(len(times)) if weights is None else weights[first:]
        at_risk = np.cumsum(weight[::-1])[::-1] + 1  # The job itself is one of them.
        left = np.cumprod(1 - has_ended * weight / at_risk, dtype=np.float64)
        return times[has_ended], 1 - left[has_ended], _tail(times, has_ended, weight)


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
                    return RunTimeForecast(group, ran_s, sample, declared_s)
            if declared_s > ran_s:
                return RunTimeForecast(None, declared_s, RunTimeSample.of([]))
        for group in groups:
            if (sample := self._runs.get(group)) and sample.ended >= FEWEST_JOBS:
                return RunTimeForecast(group, ran_s, sample)
        return None


def _latest(found: Sequence[tuple[float, bool]]) -> RunTimeSample:
    return RunTimeSample.of(found[-MOST_JOBS:])


def _tail(times: Floats, has_ended: Bools, weight: Floats) -> float:
    """Hill's estimate over the longer half, within limits; jobs that have not ended make the tail
    heavier."""
    threshold = float(np.median(times[has_ended]))
    longer = times > threshold
    excess = float((weight[longer] * np.log(times[longer] / threshold)).sum())
    ended = float((weight * has_ended)[longer].sum())
    return float(np.clip(ended / excess, _HEAVIEST, _LIGHTEST)) if excess else _LIGHTEST
