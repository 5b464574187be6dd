"""Summary of a finished simulation: completion times, delays and their causes, fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.units import SECOND_US
from motet.domain.wait import WAITS, DelayCause
from motet.sim.metrics.finish_time import FinishTimes, experiment_names
from motet.sim.metrics.placement_score import placement_score
from motet.sim.replay.outcome import Outcome

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Distribution:
    """Statistics of times in seconds; NaN if no job finished."""

    mean: float
    median: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, times_us: Ints) -> Self:
        """Of the jobs that finished."""
        if not len(times_us):
            return cls(*[float("nan")] * 5)
        found = percentiles(times_us, [0.5, 0.95, 0.99, 1.0], len(times_us))
        return cls(*(float(value) / SECOND_US for value in (times_us.mean(), *found)))


def percentiles(times: Ints | Floats, shares: Sequence[float], count: int) -> Floats:
    """Percentiles of the completion times of `count` jobs, by linear interpolation.

    `times`: of those that have finished, at least one. The others take longer than all of these: a
    percentile for which one of them is needed is infinite.
    """
    last = len(times) - 1
    ranks = np.array(shares) * (count - 1)
    found = np.full(len(shares), np.inf)
    is_known = ranks <= last + _ROUNDING
    scale = (count - 1) / last if last else 0.0
    found[is_known] = np.quantile(times, np.minimum(np.array(shares)[is_known] * scale, 1.0))
    return found


@dataclass(frozen=True)
class RestartCosts:
    """Time in checkpoints and restores that preemptions, migrations and rescales were charged.

    `count`: charged restarts. `mean_s`: average time of one that is not interrupted; 0 if there
    was none. `total_s`: time that all took. `share`: of the time that jobs held GPUs.
    """

    count: int
    mean_s: float
    total_s: float
    share: float

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        """Of the jobs that finished."""
        total_us, held_us = _total(outcome, "overhead_us"), _total(outcome, "executed_us")
        count, charged_us = _total(outcome, "restarts"), _total(outcome, "charged_us")
        mean_s = charged_us / count / SECOND_US if count else 0.0
        share = total_us / held_us if held_us else 0.0
        return cls(count, mean_s, total_us / SECOND_US, share)


@dataclass(frozen=True)
class Fairness:
    """Finish-time fairness rho of experiments (including single jobs): 1 is fair, larger values are
    worse than a separate share. `jain`: Jain's index of rho, 1 for equal values, at least 1 / n.

    `within_share`: fraction of experiments with rho of at most 1. `worst`: the name of the
    experiment with the largest rho; None if none finished.
    """

    mean: float
    max: float
    jain: float
    within_share: float
    worst: str | None

    @classmethod
    def of(cls, times: FinishTimes, names: Sequence[str]) -> Self:
        """`names`: of all experiments."""
        known = np.flatnonzero(~np.isnan(times.rho))
        if not len(known):
            return cls(nan := float("nan"), nan, nan, nan, None)
        rho = times.rho[known]
        return cls(
            mean=float(rho.mean()),
            max=float(rho.max()),
            jain=float(rho.mean()) ** 2 / float((rho**2).mean()),
            within_share=float((rho <= 1 + _ROUNDING).mean()),
            worst=names[int(known[rho.argmax()])],
        )


@dataclass(frozen=True)
class Summary:
    """`queueing_delay_s`: time without GPUs from submission to completion, as in Tiresias.

    `delay_causes_s`: its sum over all jobs by cause. `makespan_s`: first submission to last
    completion. `gpu_utilization`: share of all GPUs that jobs held in that time. `placement_score`:
    see `placement_score`, at most 1. `events`: number of job events: submissions, starts and
    resumes, preemptions, migrations, promotions, completions. Times are of the jobs that finished.
    """

    jobs: int
    finished: int
    jct_s: Distribution
    queueing_delay_s: Distribution
    delay_causes_s: Mapping[str, float]
    makespan_s: float
    gpu_utilization: float
    preemptions: int
    migrations: int
    restart_costs: RestartCosts
    finish_time_fairness: Fairness
    placement_score: float
    events: int
    decisions: int

    @classmethod
    def of(cls, outcome: Outcome, times: FinishTimes) -> Self:
        """The summary of one run. `times`: of its experiments."""
        done = outcome.is_finished
        return cls(
            jobs=len(outcome.workload),
            finished=int(done.sum()),
            jct_s=Distribution.of(outcome.jct_us),
            queueing_delay_s=Distribution.of(outcome.columns["waiting_us"][done]),
            delay_causes_s=delay_causes_s(outcome),
            makespan_s=makespan_us(outcome) / SECOND_US,
            gpu_utilization=gpu_utilization(outcome),
            preemptions=_total(outcome, "preemptions"),
            migrations=_total(outcome, "migrations"),
            restart_costs=RestartCosts.of(outcome),
            finish_time_fairness=Fairness.of(times, experiment_names(outcome.workload, times.of)),
            placement_score=placement_score(outcome.holds, outcome.cluster),
            events=_events(outcome),
            decisions=outcome.decision_count,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, in the order of the fields."""
        return asdict(self)


def delay_causes_s(outcome: Outcome) -> dict[str, float]:
    """Time that finished jobs waited, by the cause of each `Wait`."""
    total_us = {cause.value: 0 for cause in DelayCause}
    waited_us = outcome.waited_us[:, outcome.is_finished].sum(axis=1)
    for wait in WAITS:
        total_us[wait.reason.cause] += int(waited_us[wait])
    return {cause: time_us / SECOND_US for cause, time_us in total_us.items()}


def makespan_us(outcome: Outcome) -> int:
    """First submission to last completion; 0 if no job finished."""
    end_us = outcome.columns["end_us"][outcome.is_finished]
    return int(end_us.max() - outcome.workload.submit_us.min()) if len(end_us) else 0


def gpu_utilization(outcome: Outcome) -> float:
    """GPU-time that jobs held, relative to the available GPU-time within the makespan."""
    available = makespan_us(outcome) * outcome.cluster.gpu_count
    if not available:
        return 0.0
    used = np.minimum(outcome.used_gpus[:-1], outcome.cluster.gpu_count)
    return float(np.sum(used * np.diff(outcome.times_us), dtype=np.float64)) / available


def _total(outcome: Outcome, column: str) -> int:
    return int(outcome.columns[column][outcome.is_finished].sum())


def _events(outcome: Outcome) -> int:
    finished = int(outcome.is_finished.sum())
    submissions, starts, resumes = len(outcome.workload), finished, _total(outcome, "preemptions")
    moves = _total(outcome, "migrations") + _total(outcome, "promotions")
    return submissions + starts + resumes + _total(outcome, "preemptions") + moves + finished
