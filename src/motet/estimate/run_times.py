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


@dataclass(frozen=True, eq=False)
class RunTimeForecast:
    """The distribution of a job's run time. `basis`: the group that it comes from, None: the user.

    `times_s`: of jobs like it, ascending; `shares`: the probability to end until then. Beyond, a
    Pareto tail with exponent `tail`.
    """

    basis: Hashable | None
    jobs: int
    ran_s: float
    times_s: Floats
    shares: Floats
    tail: float

    def quantile(self, share: Any) -> Floats:
        """The run times, at least `ran_s`, within which these shares of such jobs end.

        `share`: `(n,)` or a number, each at least 0 and below 1.
        """
        wanted = np.asarray(share, np.float64)
        knots = np.concatenate([[0.0], self.shares])
        times = np.concatenate([[self.ran_s], self.times_s])
        last, last_share = times[-1], knots[-1]
        inside = np.interp(wanted, knots, times)
        if len(times) > 2:  # Run times differ by factors.
            beyond_first = np.exp(np.interp(wanted, knots[1:], np.log(times[1:])))
            inside = np.where(wanted > knots[1], beyond_first, inside)
        with np.errstate(divide="ignore"):
            outside = last * ((1 - last_share) / (1 - wanted)) ** (1 / self.tail)
        return np.asarray(np.where(wanted > last_share, outside, inside), np.float64)

    @property
    def median_s(self) -> float:
        """Half of such jobs end before."""
        return float(self.quantile(0.5))


class RunTimePredictor:
    """Forecasts from jobs that ran before."""

    def __init__(self, observed: Iterable[ObservedRunTime]) -> None:
        runs: dict[Hashable, list[tuple[float, bool]]] = defaultdict(list)
        ratios: dict[Hashable, list[tuple[float, bool]]] = defaultdict(list)
        for each in observed:
            for group in each.groups if each.run_s > 0 else ():
                runs[group].append((each.run_s, each.has_ended))
                if each.declared_s:
                    ratios[group].append((each.run_s / each.declared_s, each.has_ended))
        self._runs = {group: _Sample.of(found) for group, found in runs.items()}
        self._ratios = {group: _Sample.of(found) for group, found in ratios.items()}

    def forecast(
        self, groups: Sequence[Hashable], ran_s: float = 0.0, declared_s: float | None = None
    ) -> RunTimeForecast | None:
        """Of a job that has run for `ran_s`. None: too few jobs like it have ended.

        What the user declared is corrected by how jobs like it kept to it, where enough did.
        """
        if declared_s:
            for group in groups:
                if (sample := self._ratios.get(group)) and sample.ended >= FEWEST_JOBS:
                    return sample.forecast(group, ran_s, declared_s)
            if declared_s > ran_s:
                times, shares = np.array([declared_s]), np.array([1.0])
                return RunTimeForecast(None, 0, declared_s, times, shares, _LIGHTEST)
        for group in groups:
            if (sample := self._runs.get(group)) and sample.ended >= FEWEST_JOBS:
                return sample.forecast(group, ran_s)
        return None


@dataclass(frozen=True, eq=False, slots=True)
class _Sample:
    """Run times, ascending; ends before others of the same length."""

    times: Floats
    has_ended: Bools

    @classmethod
    def of(cls, found: Sequence[tuple[float, bool]]) -> _Sample:
        times = np.array([each[0] for each in found], np.float64)
        has_ended = np.array([each[1] for each in found], np.bool_)
        order = np.lexsort((~has_ended, times))
        return cls(times[order], has_ended[order])

    @property
    def ended(self) -> int:
        return int(self.has_ended.sum())

    def forecast(self, group: Hashable, ran_s: float, unit_s: float = 1.0) -> RunTimeForecast:
        """`unit_s`: of `times`."""
        first = int(np.searchsorted(self.times, ran_s / unit_s, side="right"))
        times, has_ended = self.times[first:] * unit_s, self.has_ended[first:]
        at_risk = np.arange(len(times) + 1, 1, -1)  # The job itself is one of them.
        left = np.cumprod(1 - has_ended / at_risk, dtype=np.float64)
        known = times[has_ended]
        tail = _tail(times, has_ended) if len(known) else _HEAVIEST
        shares = np.asarray(1 - left[has_ended], np.float64)
        if not len(known):  # It has run longer than all others.
            known, shares = np.array([max(ran_s, self.times[-1] * unit_s)]), np.array([0.0])
        return RunTimeForecast(
            group, self.ended, ran_s, known, np.asarray(shares, np.float64), tail
        )


def _tail(times: Floats, has_ended: Bools) -> float:
    """Hill's estimate over the longer half, within limits; jobs that have not ended make the tail
    heavier."""
    threshold = float(np.median(times[has_ended]))
    longer = times > threshold
    excess = float(np.log(times[longer] / threshold).sum())
    ended = int(has_ended[longer].sum())
    return float(np.clip(ended / excess, _HEAVIEST, _LIGHTEST)) if excess else _LIGHTEST
