"""What jobs gained from sharing machines: their measured iterations, beside those alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from motet.domain.decision import GroupMeasurement
from motet.domain.events import SubtasksMeasured
from motet.domain.snapshot import Placement
from motet.estimate.colocation.group_time import own_term_s


class _Alone(NamedTuple):
    """Seconds of an iteration of a job that has its machines for itself."""

    comp_s: float
    comm_s: float
    iteration_s: float


@dataclass
class _Period:
    """A job on these machines, beside the same jobs: the means of its reports. `skips`: the next
    report may also be of the time before. `overlaps`: its COMM runs beside its COMP."""

    where: Placement
    together: frozenset[int]
    overlaps: bool
    skips: bool
    reports: int = 0
    comp_s: float = 0.0
    comm_s: float = 0.0
    iteration_s: float = 0.0

    def add(self, comp_s: float, comm_s: float, iteration_s: float) -> None:
        self.reports += 1
        self.comp_s += (comp_s - self.comp_s) / self.reports
        self.comm_s += (comm_s - self.comm_s) / self.reports
        self.iteration_s += (iteration_s - self.iteration_s) / self.reports

    @property
    def place(self) -> tuple[Placement, bool]:
        """Where the job is, and in which mode: an attempt has one of each."""
        return self.where, self.overlaps

    @property
    def alone(self) -> _Alone:
        """An iteration of a job that is alone on its machines."""
        return _Alone(self.comp_s, self.comm_s, self.iteration_s)

    @property
    def without_waits(self) -> _Alone:
        """What an iteration would be alone, from its steps beside others."""
        own_s = own_term_s(self.comp_s, self.comm_s, self.overlaps)
        return _Alone(self.comp_s, self.comm_s, own_s)


class MeasuredGroups:
    """Means since the jobs on a job's machines are the same, and it trains in the same mode:
    asynchronously (`overlaps`) or not.

    A measurement is told after 1, 2, 4, 8, ... reports, so the last one covers at least half of the
    time, and a log grows little.
    """

    def __init__(self) -> None:
        self._periods: dict[int, _Period] = {}
        self._measured_alone: dict[tuple[int, int, bool], _Alone] = {}

    def left(self, job: int) -> None:
        """The job has ended."""
        if self._periods.pop(job, None) is None:
            return
        for known in [each for each in self._measured_alone if each[0] == job]:
            del self._measured_alone[known]

    def add(
        self, event: SubtasksMeasured, where: Placement, together: frozenset[int]
    ) -> GroupMeasurement | None:
        """Note a report of a job on slots that these jobs hold; what is to be told now."""
        if event.iteration_s is None or event.machines != len(where.machines):
            return None
        period = self._periods.get(event.job)
        place = where, bool(event.overlaps)
        if period is None or (period.place, period.together) != (place, together):
            stayed = period is not None and period.place == place
            period = self._periods[event.job] = _Period(where, together, place[1], stayed)
        if period.skips:
            period.skips = False
            return None
        period.add(event.comp_s, event.comm_s, event.iteration_s)
        if len(together) == 1:
            self._measured_alone[_key(event.job, period)] = period.alone
            return None
        return self._told(event.job, period) if _is_power_of_two(period.reports) else None

    def _told(self, job: int, period: _Period) -> GroupMeasurement:
        alone = self._alone(job, period)
        members = list(self._measured(period))
        return GroupMeasurement(
            period.iteration_s,
            alone.iteration_s,
            _key(job, period) in self._measured_alone,
            sum(self._alone(one, each).iteration_s / each.iteration_s for one, each in members),
            sum(each.comp_s / each.iteration_s for _, each in members),
            sum(each.comm_s / each.iteration_s for _, each in members),
            alone.comp_s / alone.iteration_s,
            alone.comm_s / alone.iteration_s,
            len(members),
        )

    def _measured(self, period: _Period) -> Iterable[tuple[int, _Period]]:
        """The jobs of a group that have been measured in it."""
        for job in sorted(period.together):
            known = self._periods.get(job)
            if known is not None and known.reports and known.together == period.together:
                yield job, known

    def _alone(self, job: int, period: _Period) -> _Alone:
        """An iteration of the job alone on the same number of machines, in the same mode."""
        return self._measured_alone.get(_key(job, period), period.without_waits)


def _key(job: int, period: _Period) -> tuple[int, int, bool]:
    return job, len(period.where.machines), period.overlaps


def _is_power_of_two(count: int) -> bool:
    return count & (count - 1) == 0
