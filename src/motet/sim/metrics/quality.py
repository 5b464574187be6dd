"""Model quality over the time of a simulation: losses after the completed steps of jobs.

As in SLAQ (Zhang et al., SoCC 2017, section 4): normalisation makes losses of different jobs
comparable, 1 at a job's first step and 0 at its lowest loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats, Ints
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import SECOND_US
from motet.report.cluster_run.quality import QualityOverTime, group_shares
from motet.sim.metrics.loss_groups import gpus_by_loss, held_gpus
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.step_progress import TrainedSteps
from motet.sim.workload.elastic_work import WorkModels

_MOMENTS, _MOMENTS_OF_A_RUN = 1000, 400


@dataclass(frozen=True, eq=False)
class Training:
    """Intervals of constant speed of one job, in order."""

    start_us: Ints
    end_us: Ints
    first_step: Floats
    last_step: Floats

    def steps_at(self, times_us: Any) -> Floats:
        """Completed steps at these times."""
        if not len(self.start_us):
            return np.zeros(np.shape(times_us))
        times = np.column_stack([self.start_us, self.end_us]).ravel()
        steps = np.column_stack([self.first_step, self.last_step]).ravel()
        return np.asarray(np.interp(times_us, times, steps), dtype=np.float64)

    def time_of(self, step: float) -> float:
        """The time at which this many steps were first completed, in microseconds; NaN: never."""
        place = int(np.searchsorted(self.last_step, step))
        if place == len(self.last_step):
            return float("nan")
        first, last = self.first_step[place], self.last_step[place]
        part = max(step - first, 0.0) / (last - first)
        return float(self.start_us[place] + part * (self.end_us[place] - self.start_us[place]))


@dataclass(frozen=True)
class QualitySummary:
    """`average_normalised_loss`: of the jobs present, from the first submission to the last, an
    interval that is the same under every policy.

    `time_to_90_s`, `time_to_95_s`: from submission to that part of a job's total loss reduction, on
    average over the jobs that reached it. `gpu_share_by_loss`: share of each of `LOSS_GROUPS` in
    the GPUs that jobs with a loss held during the submissions. NaN without loss curves.
    """

    rescales: int
    average_normalised_loss: float
    time_to_90_s: float
    time_to_95_s: float
    gpu_share_by_loss: Mapping[str, float]

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        """The summary of one run."""
        moments_us = _moments(outcome)
        losses = normalised_losses(outcome, moments_us)
        gpus = gpus_by_loss(losses, held_gpus(outcome.holds, len(losses), moments_us))
        return cls(
            rescales=int(outcome.columns["rescales"].sum()),
            average_normalised_loss=_mean(_average(losses)),
            time_to_90_s=_mean(time_to_reduction_s(outcome, 0.9)),
            time_to_95_s=_mean(time_to_reduction_s(outcome, 0.95)),
            gpu_share_by_loss=group_shares(gpus),
        )


def quality_over_time(outcome: Outcome) -> QualityOverTime | None:
    """Quality from the first submission to the end, equidistant; None without loss curves."""
    if not _jobs_with_curves(outcome.workload.work):
        return None
    first_us, last_us = int(outcome.workload.submit_us[0]), int(outcome.times_us[-1])
    times_us = np.unique(np.linspace(first_us, last_us, _MOMENTS_OF_A_RUN).astype(np.int64))
    losses = normalised_losses(outcome, times_us)
    gpus = gpus_by_loss(losses, held_gpus(outcome.holds, len(losses), times_us))
    return QualityOverTime(times_us, (~np.isnan(losses)).sum(axis=0), _average(losses), gpus)


def training_of(trained: TrainedSteps, job: int) -> Training:
    """The training intervals of one job."""
    rows = np.flatnonzero(trained.job == job)
    return Training(
        trained.start_us[rows],
        trained.end_us[rows],
        trained.first_step[rows],
        trained.last_step[rows],
    )


def normalised_losses(outcome: Outcome, times_us: Any) -> Floats:
    """`(jobs, times)`, 1 at the first step and 0 at the best; NaN for jobs without a curve, and for
    times before a job's submission or after its end.
    """
    times, work = np.asarray(times_us), outcome.workload.work
    found = np.full((len(outcome.workload), len(times)), np.nan)
    for job in _jobs_with_curves(work):
        assert work is not None
        is_there = _is_there(outcome, job, times)
        steps = training_of(outcome.trained, job).steps_at(times[is_there])
        first, lowest = _range(work, job)
        found[job, is_there] = (work.loss(job, steps) - lowest) / (first - lowest)
    return found


def average_normalised_loss(outcome: Outcome, times_us: Any) -> Floats:
    """`(times,)`: mean over the jobs present; NaN without jobs."""
    return _average(normalised_losses(outcome, times_us))


def _average(losses: Floats) -> Floats:
    known = ~np.isnan(losses)
    total, count = np.where(known, losses, 0.0).sum(axis=0), known.sum(axis=0)
    average = np.full(losses.shape[1], np.nan)
    np.divide(total, count, out=average, where=count > 0)
    return average


def time_to_reduction_s(outcome: Outcome, part: float) -> Floats:
    """`(jobs,)`: time from submission until this fraction (0 to 1) of a job's total loss reduction;
    NaN: never, or no curve.
    """
    work, found = outcome.workload.work, np.full(len(outcome.workload), np.nan)
    for job in _jobs_with_curves(work):
        assert work is not None
        curve = work.curve_of(job)
        assert curve is not None
        first, lowest = _range(work, job)
        of_curve = curve.part_until(first - part * (first - lowest))
        step = min(of_curve * int(work.planned_steps[job]), int(work.steps[job]))
        time_us = training_of(outcome.trained, job).time_of(step)
        found[job] = (time_us - int(outcome.workload.submit_us[job])) / SECOND_US
    return found


def _jobs_with_curves(work: WorkModels | None) -> list[int]:
    return [] if work is None else np.flatnonzero(work.curve != UNKNOWN).tolist()


def _is_there(outcome: Outcome, job: int, times_us: Ints) -> NDArray[np.bool_]:
    end_us = int(outcome.columns["end_us"][job])
    is_there: NDArray[np.bool_] = times_us >= outcome.workload.submit_us[job]
    return is_there if end_us == UNKNOWN else is_there & (times_us < end_us)


def _range(work: WorkModels, job: int) -> tuple[float, float]:
    """The first loss of a job, and the lowest until its end."""
    losses = work.loss(job, np.arange(int(work.steps[job]) + 1))
    return float(losses[0]), float(losses.min())


def _moments(outcome: Outcome) -> Ints:
    """Equidistant times from the first to the last submission; to the last completion if these
    coincide.
    """
    submit_us = outcome.workload.submit_us
    first_us, last_us = int(submit_us[0]), int(submit_us[-1])
    if last_us == first_us:
        last_us = max(first_us, int(outcome.columns["end_us"].max()))
    return np.linspace(first_us, last_us, _MOMENTS).astype(np.int64)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
