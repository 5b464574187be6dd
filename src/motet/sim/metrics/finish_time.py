"""Finish-time fairness of experiments in a finished simulation (Themis' rho).

An experiment consists of the jobs of one search, or of a single job. It ends with its last job.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.snapshot import UNKNOWN
from motet.domain.units import NEVER_US
from motet.estimate.shares import GroupPieces, pieces_of
from motet.estimate.widths import RequestedSizes, Widths, widths_of
from motet.sim.metrics.own_shares import times_on_own_shares
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.elastic_work import ROLE_COLUMNS, WorkModels
from motet.sim.workload.workload import Workload


@dataclass(frozen=True, eq=False)
class FinishTimes:
    """`of: (jobs,)`: each job's experiment. `ideal_us`, `rho`: `(experiments,)`.

    `ideal_us`: T_ideal, the time that the experiment takes if at every moment each of the N
    experiments present has its own 1/N of the cluster (`motet.sim.metrics.own_shares`). It depends
    on the workload and the cluster, not on the policy. A gang wider than the share is assumed to
    run slower in proportion, an elastic job with its fastest number of workers.

    `rho`: T_shared / T_ideal, T_shared from its first submission to its last end; NaN if a job did
    not finish or there was no work.
    """

    of: Ints
    ideal_us: Floats
    rho: Floats

    @classmethod
    def of_outcome(cls, outcome: Outcome) -> Self:
        """Finish times of all experiments, numbered by their first jobs."""
        jobs, of = outcome.workload, _experiments(outcome.workload.experiment)
        count = int(of.max(initial=-1)) + 1
        submit_us = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(submit_us, of, jobs.submit_us)
        end_us, longest_us = np.zeros(count, dtype=np.int64), np.zeros(count)
        np.maximum.at(end_us, of, outcome.columns["end_us"])
        widths = _widths(outcome)
        np.maximum.at(longest_us, of, jobs.duration_us * jobs.gpus / widths.fastest)
        done = np.bincount(of, ~outcome.is_finished, minlength=count) == 0
        work_gpu_us = jobs.duration_us * jobs.gpus.astype(np.float64)
        service_gpu_us = np.bincount(of, work_gpu_us, count).astype(np.float64)
        pieces = pieces_of(widths.first, widths.gpus, widths.speed)
        ideal_us = times_on_own_shares(
            submit_us.astype(np.float64),
            service_gpu_us,
            longest_us,
            _leave_us(jobs, of, count),
            GroupPieces.of(pieces, of, count),
            outcome.cluster.gpu_count,
        )
        rho = np.full(count, np.nan)
        shared_us = (end_us - submit_us).astype(np.float64)
        np.divide(shared_us, ideal_us, out=rho, where=done & (ideal_us > 0))
        return cls(of, ideal_us, rho)

    @property
    def ideal_us_of_jobs(self) -> Floats:
        """`(jobs,)`: T_ideal of every job's experiment."""
        return self.ideal_us[self.of]

    @property
    def rho_of_jobs(self) -> Floats:
        """`(jobs,)`: rho of every job's experiment."""
        return self.rho[self.of]


def experiment_names(jobs: Workload, of: Ints) -> list[str]:
    """Names of experiments as in the trace, by number; the job's id for a single job."""
    _, first = np.unique(of, return_index=True)
    index = jobs.experiment[first].tolist()
    return [
        jobs.ids[job] if number == UNKNOWN else jobs.experiment_names[number]
        for job, number in zip(first.tolist(), index, strict=True)
    ]


def _widths(outcome: Outcome) -> Widths:
    """Widths by true speeds, on the fewest machines."""
    jobs, most_gpus = outcome.workload, outcome.cluster.gpu_count
    work = jobs.work
    if work is None:
        work = WorkModels.of(np.zeros(len(jobs)), 0, 0.0)
    rigid = {"workers": jobs.gpus, "min_workers": jobs.gpus, "max_workers": jobs.gpus}
    rigid |= {"worker_gpus": np.ones_like(jobs.gpus)}
    columns = (
        np.where(work.is_modelled, getattr(work, name), rigid.get(name, 0)) for name in ROLE_COLUMNS
    )
    roles = dict(zip(ROLE_COLUMNS, columns, strict=True))
    request = RequestedSizes(gpus=jobs.gpus, **roles)
    return widths_of(
        request, work.speeds.mode, work.speeds.parameters, most_gpus, outcome.together_gpus
    )


def _experiments(experiment: Ints) -> Ints:
    """`(jobs,)`: experiments, numbered from 0 by first job."""
    key = np.where(experiment == UNKNOWN, -1 - np.arange(len(experiment)) + UNKNOWN, experiment)
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[of].astype(np.int64)


def _leave_us(jobs: Workload, of: Ints, count: int) -> Floats:
    """`(experiments,)`: when the last job of an experiment is cancelled; infinite if one is not."""
    if jobs.interventions is None:
        return np.full(count, np.inf)
    leave_us = np.zeros(count, dtype=np.int64)
    np.maximum.at(leave_us, of, jobs.interventions.cancel_us)
    return np.where(leave_us == NEVER_US, np.inf, leave_us.astype(np.float64))
