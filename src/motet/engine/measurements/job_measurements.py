"""Measurements of elastic jobs, and the estimates that are computed from them.

Fits are computed when a policy decides, and only for jobs with enough new measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.estimates import Estimates, LossForecasts, SubtaskEstimates
from motet.domain.events import DataSizes
from motet.domain.snapshot import UNKNOWN, JobTable
from motet.engine.measurements.array_rows import appended_rows, leading_rows, rows_of
from motet.engine.measurements.subtask_rows import MeasuredSubtasks, subtask_estimates
from motet.engine.ports import CurveFitter, SpeedFitter
from motet.estimate.colocation.group_time import SubtaskTimes
from motet.estimate.colocation.memory_curve import MachineBytes
from motet.estimate.loss_curve.confidence import confidence
from motet.estimate.speed_function import PARAMETERS

MOST_POINTS = 512
"""A longer history is thinned to every second loss."""
_GROWTH = 1.1
_NAN = float("nan")


@dataclass
class _Measured:
    """Measurements of one job. `losses`, `speeds`: (steps done, loss) and (workers, servers, steps
    per second) in the order of their measurement. `fitted`: number of reported losses at the last
    fit, which is in that `row`. `unfitted`: losses of a noted fit that was not made yet."""

    target_loss: float
    planned_steps: float
    losses: list[tuple[float, float]] = field(default_factory=list)
    speeds: list[tuple[int, int, float]] = field(default_factory=list)
    steps_done: float = 0.0
    first_loss: float = _NAN
    largest_change: float = 0.0
    reported: int = 0
    fitted: int = 0
    row: int = UNKNOWN
    has_new_speed: bool = False
    speed_mode: int = 0
    speed: Floats = field(default_factory=lambda: np.full(len(PARAMETERS), _NAN))
    unfitted: list[tuple[float, float]] | None = None
    subtasks: MeasuredSubtasks | None = None

    @property
    def is_due(self) -> bool:
        """Whether there are enough new losses for another fit."""
        return self.reported > self.fitted * _GROWTH


class Measurements:
    """Measurements by job number. Without a fitter, predictions are missing."""

    def __init__(
        self, curve_fitter: CurveFitter | None = None, speed_fitter: SpeedFitter | None = None
    ) -> None:
        self._curve_fitter, self._speed_fitter = curve_fitter, speed_fitter
        self._jobs: dict[int, _Measured] = {}
        self._fitted: LossForecasts | None = None
        self._has_subtasks = False
        self._last: tuple[bytes, Estimates] | None = None
        self._blank: Estimates | None = None

    def arrived(
        self,
        job: int,
        target_loss: float = _NAN,
        planned_steps: float = _NAN,
        data: DataSizes | None = None,
    ) -> None:
        """Add a job with the end condition that its user specified; NaN: not specified.

        `data`: of a job that reports COMP and COMM.
        """
        self._jobs[job], self._last = _Measured(target_loss, planned_steps), None
        if data is not None:
            self._jobs[job].subtasks = MeasuredSubtasks(data)
            self._has_subtasks = True

    def copy(self) -> Measurements:
        """The same measurements, to be estimated from without a trace in these."""
        found = deepcopy(self)
        found._last = None  # The copies of its columns could be written.
        return found

    def renumbered(self, number_of: Mapping[int, int]) -> Measurements:
        """A copy with these jobs alone, under other numbers."""
        found = self.copy()
        found._jobs = {
            number_of[job]: each for job, each in found._jobs.items() if job in number_of
        }
        return found

    def __contains__(self, job: int) -> bool:
        return job in self._jobs

    def left(self, job: int) -> None:
        """Remove a job."""
        self._jobs.pop(job, None)
        self._last = None

    def trained(self, job: int, steps_done: float, points: Sequence[tuple[float, float]]) -> None:
        """Record the progress of a job. `points`: new (step, loss), ascending."""
        known, self._last = self._jobs[job], None
        known.steps_done = steps_done
        for step, loss in points:
            _note_loss(known, step, loss)
        if len(known.losses) > MOST_POINTS:
            known.losses = known.losses[::2] + known.losses[-1:] * (len(known.losses) % 2 == 0)

    def ran(self, job: int, workers: int, servers: int, steps_per_s: float) -> None:
        """Record a speed; it replaces an earlier one with the same numbers of workers and
        servers."""
        known = self._jobs[job]
        sample = (workers, servers, steps_per_s)
        if sample in known.speeds:
            return
        self._last = None
        known.speeds = [each for each in known.speeds if each[:2] != sample[:2]] + [sample]
        known.has_new_speed = True

    def took(
        self,
        job: int,
        machines: int,
        times: SubtaskTimes,
        memory: MachineBytes | None = None,
    ) -> None:
        """Record the subtasks of an iteration, and the memory on its machines. Raises BadInput for
        times without meaning."""
        known = self._jobs[job]
        if known.subtasks is not None:
            self._last = None
            known.subtasks.add(machines, times, memory)

    def estimates(self, jobs: JobTable) -> Estimates:
        """Estimates of these jobs, in their order; the last ones if nothing has changed since."""
        numbers = jobs.number.tobytes()
        if self._last is None or self._last[0] != numbers:
            self._last = numbers, self._new_estimates(jobs)
        return self._last[1]

    def _new_estimates(self, jobs: JobTable) -> Estimates:
        if not (self._jobs or self._has_subtasks):
            return self._unmeasured(len(jobs))
        return self._estimated([self._jobs.get(number) for number in jobs.number.tolist()])

    def _unmeasured(self, size: int) -> Estimates:
        """Of jobs that are all rigid: the first of many equal rows, which are kept."""
        if self._blank is None or len(self._blank.loss) < size:
            self._blank = self._estimated([None] * (2 * size))
        return leading_rows(self._blank, size)

    def _estimated(self, rows: Sequence[_Measured | None]) -> Estimates:
        known = [row for row in rows if row is not None]
        self._fit_speeds(known)
        table, forecasts = _Table(rows), self._forecasts([job for job in known if job.losses])
        steps_left, end_confidence = _steps_left(table, forecasts)
        return leading_rows(
            Estimates(
                **{name: table.column(name) for name in _MEASURED},
                loss=table.last_report()[1],
                forecasts=forecasts,
                steps_left=steps_left,
                end_confidence=end_confidence,
                speed_mode=table.column("speed_mode", 0).astype(np.int64),
                speed=table.speeds(),
                subtasks=table.subtasks() if self._has_subtasks else None,
            ),
            len(rows),
        )

    def note_fits(self, jobs: JobTable) -> None:
        """Estimates of these jobs were computed now: fits are made when they are next needed, from
        the losses of this moment."""
        self._last = None
        rows = [self._jobs.get(number) for number in jobs.number.tolist()]
        kept = [row for row in rows if row is not None and row.losses]
        if self._curve_fitter is None or not kept:
            return
        for job in kept:
            if job.is_due:
                job.unfitted, job.fitted = [*job.losses], job.reported
        kept_ids = {id(job) for job in kept}
        for job in self._jobs.values():
            if id(job) not in kept_ids:
                job.unfitted, job.fitted, job.row = None, 0, UNKNOWN

    def _forecasts(self, jobs: Sequence[_Measured]) -> LossForecasts | None:
        """Forecasts of these jobs, all with known losses; drops forecasts of all other jobs."""
        if self._curve_fitter is None or not jobs:
            return None
        due = [job for job in jobs if job.is_due or job.unfitted is not None]
        new = self._curve_fitter.fit_many([_history(job) for job in due]) if due else None
        before = 0 if self._fitted is None else len(self._fitted)
        for place, job in enumerate(due):
            job.fitted = job.reported if job.is_due else job.fitted
            job.row, job.unfitted = before + place, None
        rows = np.array([job.row for job in jobs], dtype=np.int64)
        self._fitted = rows_of(appended_rows(self._fitted, new), rows)
        self._renumber(jobs)
        return self._fitted

    def _renumber(self, kept: Sequence[_Measured]) -> None:
        for job in self._jobs.values():
            job.row = UNKNOWN
        for place, job in enumerate(kept):
            job.row = place
        for job in self._jobs.values():
            job.fitted = 0 if job.row == UNKNOWN else job.fitted

    def _fit_speeds(self, jobs: Sequence[_Measured]) -> None:
        if self._speed_fitter is None:
            return
        for job in jobs:
            if job.has_new_speed:
                job.speed_mode, job.speed = self._speed_fitter.fit(np.array(job.speeds))
                job.has_new_speed = False


_MEASURED = ("steps_done", "first_loss", "largest_change", "target_loss", "planned_steps")


class _Table:
    """Measurements as columns; None: a job without measurements."""

    def __init__(self, rows: Sequence[_Measured | None]) -> None:
        self._rows = rows
        self._known = [(place, row) for place, row in enumerate(rows) if row is not None]
        self._places = [place for place, _ in self._known]

    def column(self, name: str, unknown: float = _NAN) -> Floats:
        return self._filled([getattr(row, name) for _, row in self._known], unknown)

    def last_report(self) -> tuple[Floats, Floats]:
        """Steps and loss."""
        last = [row.losses[-1] if row.losses else (_NAN, _NAN) for _, row in self._known]
        return self._filled([step for step, _ in last]), self._filled([loss for _, loss in last])

    def subtasks(self) -> SubtaskEstimates:
        return subtask_estimates([None if row is None else row.subtasks for row in self._rows])

    def speeds(self) -> Floats:
        found = np.full((len(self._rows), len(PARAMETERS)), _NAN)
        for place, row in self._known:
            found[place] = row.speed
        return found

    def _filled(self, values: Sequence[float], unknown: float = _NAN) -> Floats:
        column = np.full(len(self._rows), unknown, dtype=np.float64)
        column[self._places] = values
        return column


def _steps_left(table: _Table, forecasts: LossForecasts | None) -> tuple[Floats, Floats | None]:
    """Remaining planned steps; else the steps until the predicted loss reaches the target. And the
    confidence in them."""
    done = table.column("steps_done")
    left = table.column("planned_steps") - done
    if forecasts is None:
        return left, None
    (step, loss), targets = table.last_report(), table.column("target_loss")
    has_loss = ~np.isnan(loss)
    target = targets[has_loss]
    ends = forecasts.iterations_to(np.where(np.isnan(target), np.inf, target))
    predicted, trust = np.full(len(left), _NAN), np.ones(len(left))
    predicted[has_loss] = np.maximum(ends - done[has_loss], 0.0)
    predicted[np.isnan(targets)] = _NAN
    apart = forecasts.disagreement(np.where(np.isinf(ends), step[has_loss], ends))
    certain = np.where(np.isinf(ends), 0.0, confidence(loss[has_loss] - target, apart))
    trust[has_loss] = np.where(loss[has_loss] <= target, 1.0, certain)
    is_planned = ~np.isnan(left)
    trust[is_planned] = 1.0
    return np.where(is_planned, left, predicted), trust


def _history(job: _Measured) -> tuple[Floats, Floats]:
    """What the next fit is made from."""
    points = job.losses if job.is_due or job.unfitted is None else job.unfitted
    steps, losses = np.array(points, dtype=np.float64).T
    return np.ascontiguousarray(steps), np.ascontiguousarray(losses)


def _note_loss(known: _Measured, step: float, loss: float) -> None:
    if known.losses:
        before, last = known.losses[-1]
        change = (last - loss) / (step - before)
        known.largest_change = max(known.largest_change, change)
    else:
        known.first_loss = loss
    known.losses.append((step, loss))
    known.reported += 1
