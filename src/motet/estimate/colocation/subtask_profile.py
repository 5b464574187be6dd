"""The measured profile of a job: COMP and COMM seconds by number of machines (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.2: a 3-tuple (T_cpu, T_net, machines) per job, updated
by moving averages, with T_cpu proportional to 1 / machines (eq. 4.2) and T_net independent of them.

Departure: where COMP was measured on several numbers of machines, eq. 4.2 gets a constant,

    T_cpu(m) = w / m + c,    w, c >= 0,

for the part of COMP that more machines do not divide (for example, work per mini-batch instead of
per instance). w and c minimise the squared relative errors of the averages, each weighted by its
number of samples. After measurements on one number of machines, c = 0 and eq. 4.2 holds exactly.

Departure: CPU time outside of COMP is measured, too (`group_time.py`); like T_net it is taken as
independent of the number of machines: each server gets 1 / machines of the model from all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.estimate.colocation.group_time import SubtaskTimes

WINDOW = 20
"""Samples in a moving average: the weight of a new one is 1/20, and higher before the 20th."""


class MeasuredCount(NamedTuple):
    """Moving averages on one number of machines; `samples`: measured iterations, at most WINDOW."""

    machines: int
    comp_s: float
    comm_s: float
    samples: int
    outside_s: float = 0.0

    def updated(self, comp_s: float, comm_s: float, outside_s: float) -> MeasuredCount:
        """The averages after one more iteration."""
        samples = min(self.samples + 1, WINDOW)
        return MeasuredCount(
            self.machines,
            self.comp_s + (comp_s - self.comp_s) / samples,
            self.comm_s + (comm_s - self.comm_s) / samples,
            samples,
            self.outside_s + (outside_s - self.outside_s) / samples,
        )


class CompCurve(NamedTuple):
    """COMP seconds on m machines: `divided_s` / m + `constant_s`."""

    divided_s: float
    constant_s: float

    def at(self, machines: int) -> float:
        """Seconds of COMP per iteration on this many machines."""
        return self.divided_s / machines + self.constant_s


@dataclass(frozen=True)
class SubtaskProfile:
    """Measurements of one job, by ascending number of machines.

    `comp`: COMP seconds by number of machines; `comm_s`, `outside_s`: see SubtaskTimes, the means
    over all samples. `overlaps`: whether COMM ran beside COMP in the last one.
    """

    counts: tuple[MeasuredCount, ...]
    overlaps: bool = False
    comp: CompCurve = field(init=False)
    comm_s: float = field(init=False)
    outside_s: float = field(init=False)

    def __post_init__(self) -> None:
        if not self.counts:
            raise BadInput("a profile without measurements: give at least one")
        object.__setattr__(self, "comp", _fitted(self.counts))
        object.__setattr__(self, "comm_s", _mean_s(self.counts, "comm_s"))
        object.__setattr__(self, "outside_s", _mean_s(self.counts, "outside_s"))

    @classmethod
    def of(
        cls, machines: int, comp_s: float, comm_s: float, outside_s: float = 0.0
    ) -> SubtaskProfile:
        """The 3-tuple of the source, and `outside_s`. Raises BadInput for times or machines without
        meaning."""
        _check(machines, comp_s, comm_s, outside_s)
        return cls((MeasuredCount(machines, comp_s, comm_s, 1, outside_s),))

    def measured(
        self, machines: int, comp_s: float, comm_s: float, outside_s: float = 0.0
    ) -> SubtaskProfile:
        """The profile after an iteration on this many machines, alone or in a group.

        Raises BadInput for times or machines without meaning.
        """
        _check(machines, comp_s, comm_s, outside_s)
        by_count = {count.machines: count for count in self.counts}
        before = by_count.get(machines, MeasuredCount(machines, 0.0, 0.0, 0))
        by_count[machines] = before.updated(comp_s, comm_s, outside_s)
        return SubtaskProfile(tuple(by_count[each] for each in sorted(by_count)), self.overlaps)

    @classmethod
    def after(
        cls, before: SubtaskProfile | None, machines: int, times: SubtaskTimes
    ) -> SubtaskProfile:
        """The profile after an iteration with these times, the first one without `before`; gaps are
        not kept. Raises BadInput for times or machines without meaning."""
        record = cls.of if before is None else before.measured
        found = record(machines, times.comp_s, times.comm_s, times.outside_s)
        return found if found.overlaps == times.overlaps else cls(found.counts, times.overlaps)

    def at(self, machines: int) -> SubtaskTimes:
        """Predicted COMP and COMM seconds on this many machines."""
        if machines < 1:
            raise BadInput(f"machines={machines}: a job runs on at least 1")
        comp_s = self.comp.at(machines)
        return SubtaskTimes(comp_s, self.comm_s, self.outside_s, overlaps=self.overlaps)


def _check(machines: int, comp_s: float, comm_s: float, outside_s: float) -> None:
    if machines < 1:
        raise BadInput(f"machines={machines}: a measurement is on at least 1")
    if not 0 < comp_s < np.inf:
        raise BadInput(f"comp_s={comp_s}: the seconds of COMP are above 0")
    if not 0 <= comm_s < np.inf:
        raise BadInput(f"comm_s={comm_s}: the seconds of COMM are 0 or more")
    if not 0 <= outside_s < np.inf:
        raise BadInput(f"outside_s={outside_s}: the seconds outside of COMP are 0 or more")


def _mean_s(counts: tuple[MeasuredCount, ...], name: str) -> float:
    samples = sum(count.samples for count in counts)
    total_s: float = sum(getattr(count, name) * count.samples for count in counts)
    return total_s / samples


def _fitted(counts: tuple[MeasuredCount, ...]) -> CompCurve:
    """The least squares of relative errors; the parameter that would be negative becomes 0."""
    weight = np.sqrt([count.samples for count in counts])
    comp_s = np.array([count.comp_s for count in counts])
    shape = np.array([[1 / count.machines, 1.0] for count in counts])
    rows = shape * (weight / comp_s)[:, np.newaxis]
    if len(counts) > 1:
        divided_s, constant_s = np.linalg.lstsq(rows, weight, rcond=None)[0]
        if divided_s >= 0 and constant_s >= 0:
            return CompCurve(float(divided_s), float(constant_s))
        if divided_s < 0:
            return CompCurve(0.0, _scale(rows[:, 1], weight))
    return CompCurve(_scale(rows[:, 0], weight), 0.0)


def _scale(row: Floats, wanted: Floats) -> float:
    """The factor of the least squares in one unknown."""
    return float(row @ wanted / (row @ row))
