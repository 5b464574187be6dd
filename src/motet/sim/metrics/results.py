"""The result of one simulation: its document, its table of jobs, the rows of its files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from motet.domain.snapshot import UNKNOWN
from motet.domain.units import SECOND_US, exact_seconds
from motet.report.cluster_run.columns import JOB_COLUMNS
from motet.report.cluster_run.placements import Placements
from motet.report.cluster_run.record import ClusterRun, rho_of_experiments
from motet.report.cluster_run.run_label import Sweep, run_label
from motet.sim.metrics.finish_time import FinishTimes
from motet.sim.metrics.quality import QualitySummary, quality_over_time
from motet.sim.metrics.summary import Summary
from motet.sim.replay.outcome import Outcome
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.input_coverage import MissingInput

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """The result of a simulation. `jobs`: a table; `summary`: a dictionary.

    `outcome`: everything, in integer microseconds. `wall_s`: how long it took to simulate,
    `compile_s`: of it the compilation of what no run before it had used. `sweep`: the parameter
    whose effect was explored, and its value in this run. `missing`: what the policy decides by and
    jobs of the workload lack. `knows_durations`: it got run times.
    """

    policy: str
    params: Mapping[str, Any]
    seed: int
    trace_sha256: str
    outcome: Outcome
    wall_s: float
    sweep: Sweep | None = None
    missing: tuple[MissingInput, ...] = ()
    knows_durations: bool = False
    compile_s: float = 0.0

    def __repr__(self) -> str:
        jobs, done = self.outcome.workload, self.outcome.is_finished
        finished = f"{done.sum():,} of {len(jobs):,} jobs finished"
        return f"<SimulationResult: {self.policy}, seed {self.seed}, {finished}>"

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The run's entry in the document that `motet simulate --json` prints."""
        return {
            "policy": self.policy,
            "params": {name: _plain(value) for name, value in self.params.items()},
            "seed": self.seed,
            **({} if self.sweep is None else {"sweep": self.sweep._asdict()}),
            "trace_sha256": self.trace_sha256,
            **Summary.of(self.outcome, self._finish_times).as_dict(),
            **self._quality,
            "wall_s": self.wall_s,
            "compile_s": self.compile_s,
            "missing_inputs": [each.as_dict() for each in self.missing],
            "knows_durations": self.knows_durations,
        }

    @cached_property
    def jobs(self) -> DataFrame:
        """A row per job with the columns of `jobs.csv`; times in seconds, NaN where unknown."""
        from pandas import DataFrame

        outcome, done = self.outcome, self.outcome.is_finished
        table = DataFrame(list(self.job_rows()), columns=list(JOB_COLUMNS))
        ends_us = outcome.columns["end_us"]
        times_us = {
            "submit_time": outcome.workload.submit_us,
            "start_time": outcome.columns["start_us"],
            "end_time": ends_us,
            "jct": ends_us - outcome.workload.submit_us,
            "queueing_delay": outcome.columns["waiting_us"],
        }
        for name, column in times_us.items():
            table[name] = column / SECOND_US
            known = {"submit_time": True, "start_time": times_us["start_time"] != UNKNOWN}
            table.loc[~np.broadcast_to(known.get(name, done), len(done)), name] = math.nan
        return table

    def job_rows(self) -> Iterator[tuple[str | int, ...]]:
        """The rows of `jobs.csv`, in the order of arrival; seconds as exact text, "" if unknown."""
        jobs, columns = self.outcome.workload, self.outcome.columns
        names = ("start_us", "end_us", "waiting_us", "preemptions", "promotions", "migrations")
        states = self._states
        events = [columns[name].tolist() for name in names]
        known = [jobs.submit_us.tolist(), jobs.gpus.tolist(), jobs.queue.tolist()]
        for row in zip(states, jobs.ids, jobs.users, *known, *events, strict=True):
            state, job_id, user, submit_us, gpus, queue, start_us, end_us, waited_us, *counts = row
            done = end_us != UNKNOWN
            yield (
                job_id,
                user,
                jobs.queue_names[queue] if queue != UNKNOWN else "",
                gpus,
                exact_seconds(submit_us),
                exact_seconds(start_us) if start_us != UNKNOWN else "",
                exact_seconds(end_us) if done else "",
                exact_seconds(end_us - submit_us) if done else "",
                exact_seconds(waited_us) if done else "",
                *counts,
                state,
            )

    @property
    def unfinished(self) -> dict[str, int]:
        """Number of jobs that did not finish, by state."""
        states = self._states
        return {state: states.count(state) for state in ("waiting", "suspended", "cancelled")}

    @property
    def has_started(self) -> bool:
        """Whether any job ever got GPUs."""
        return bool((self.outcome.columns["start_us"] != UNKNOWN).any())

    @property
    def _states(self) -> list[str]:
        """The final state of every job; unfinished jobs that are neither cancelled nor suspended
        are "waiting", also if they held GPUs at the end."""
        is_cancelled = self.outcome.columns["cancel_us"] != UNKNOWN
        is_suspended = self.outcome.is_suspended
        choices = [is_cancelled, self.outcome.is_finished, is_suspended]
        states = np.select(choices, ["cancelled", "finished", "suspended"], "waiting")
        return [str(state) for state in states]

    def placement_rows(self) -> Iterator[tuple[str | int, ...]]:
        """The rows of `placements.csv`, by start; seconds as exact text."""
        ids, machines = self.outcome.workload.ids, self.outcome.cluster.names
        holds = self.outcome.holds
        columns = (holds.job, holds.machine, holds.gpus, holds.start_us, holds.end_us)
        for job, machine, gpus, start_us, end_us, others in zip(
            *(column.tolist() for column in columns), holds.shared_with(), strict=True
        ):
            times = exact_seconds(start_us), exact_seconds(end_us)
            company = " ".join(ids[other] for other in others)
            yield (ids[job], machines[machine], gpus, *times, company)

    def fairness_rows(self) -> Iterator[tuple[str, ...]]:
        """The rows of `fairness.csv`: every job that finished, in the order of arrival."""
        jobs, times = self.outcome.workload, self._finish_times
        ideal_s, rho = times.ideal_us_of_jobs / SECOND_US, times.rho_of_jobs
        columns = (jobs.duration_us, ideal_s, rho, self.outcome.is_finished)
        for job_id, name, duration_us, ideal, ratio, is_done in zip(
            jobs.ids, self._experiments, *(column.tolist() for column in columns), strict=True
        ):
            if is_done:
                known = "" if math.isnan(ratio) else repr(ratio)
                yield job_id, exact_seconds(duration_us), repr(ideal), known, name

    def training_rows(self) -> Iterator[tuple[str | int, ...]] | None:
        """The rows of `training.csv`: a row per elastic job and time span of constant speed, by the
        end of the span; seconds as exact text. None without elastic jobs."""
        work = self.outcome.workload.work
        return None if work is None else _training_rows(self.outcome, work)

    def quality_rows(self) -> Iterator[tuple[str | int, ...]] | None:
        """The rows of `quality.csv`, by time. None if no job has a loss curve."""
        quality = self.cluster_run.quality
        return None if quality is None else quality.rows()

    @cached_property
    def placements(self) -> Placements:
        """GPUs that jobs held on machines over time."""
        outcome, holds = self.outcome, self.outcome.holds
        return Placements(
            machine_names=outcome.cluster.names,
            machine_gpus=outcome.cluster.gpus,
            job=holds.job,
            machine=holds.machine,
            gpus=holds.gpus,
            start_s=holds.start_us / SECOND_US,
            end_s=holds.end_us / SECOND_US,
            partner=holds.partner,
            sharers=holds.sharers,
            job_gpus=_gang_gpus(outcome),
        )

    @cached_property
    def _quality(self) -> dict[str, Any]:
        """Quality metrics; empty for workloads without elastic jobs."""
        if self.outcome.workload.work is None:
            return {}
        return {"quality": asdict(QualitySummary.of(self.outcome))}

    @cached_property
    def _experiments(self) -> tuple[str, ...]:
        """The name of each job's experiment in the trace; "" for a job without one."""
        jobs = self.outcome.workload
        names = (*jobs.experiment_names, "")
        return tuple(names[number] for number in jobs.experiment.tolist())

    @cached_property
    def _finish_times(self) -> FinishTimes:
        return FinishTimes.of_outcome(self.outcome)

    @cached_property
    def cluster_run(self) -> ClusterRun:
        """The run in columns, independent of the simulator."""
        outcome, done = self.outcome, self.outcome.is_finished
        jobs = outcome.workload
        return ClusterRun(
            label=run_label(self.summary),
            ids=tuple(compress(jobs.ids, done)),
            gpus=jobs.gpus[done],
            duration_s=jobs.duration_us[done] / SECOND_US,
            jct_s=outcome.jct_us / SECOND_US,
            queueing_delay_s=outcome.columns["waiting_us"][done] / SECOND_US,
            rho=rho_of_experiments(
                self._finish_times.rho_of_jobs[done], tuple(compress(self._experiments, done))
            ),
            delay_causes_s=self.summary["delay_causes_s"],
            gpu_count=outcome.cluster.gpu_count,
            times_s=outcome.times_us / SECOND_US,
            used_gpus=outcome.used_gpus,
            waiting_jobs=outcome.waiting_jobs,
            quality=quality_over_time(outcome),
        )


def _gang_gpus(outcome: Outcome) -> NDArray[np.int64]:
    """For every row of `holds`, the GPUs of its job on all machines at that time."""
    holds = outcome.holds
    if outcome.workload.work is None:
        return outcome.workload.gpus[holds.job]
    times = np.stack([holds.job, holds.start_us])
    _, which = np.unique(times, axis=1, return_inverse=True)
    which = which.ravel()
    gpus: NDArray[np.int64] = np.bincount(which, holds.gpus).astype(np.int64)[which]
    return gpus


def _training_rows(outcome: Outcome, work: WorkModels) -> Iterator[tuple[str | int, ...]]:
    ids, trained = outcome.workload.ids, outcome.trained
    columns = (getattr(trained, field.name).tolist() for field in fields(trained))
    for job, start_us, end_us, workers, servers, *steps in zip(*columns, strict=True):
        times = exact_seconds(start_us), exact_seconds(end_us)
        losses = ("" if math.isnan(loss) else repr(loss) for loss in work.loss(job, steps).tolist())
        yield (ids[job], *times, workers, servers, *map(repr, steps), *losses)


def _plain(value: Any) -> Any:
    """Infinity as text in the form that `--set` accepts: JSON has no infinity."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value
