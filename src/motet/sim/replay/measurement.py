"""What simulated jobs report: true losses and speeds, as they become observable, or what was
recorded once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.estimates import Overlap
from motet.domain.events import (
    DataSizes,
    Event,
    Goal,
    ProgressMeasured,
    SizeProposed,
    SpeedMeasured,
    SubtasksMeasured,
)
from motet.domain.units import NEVER_US
from motet.engine.state.cluster_state import ClusterState
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.step_progress import StepProgress
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.job_reports import JobReports

MOST_NEW_POINTS = 64
"""Limit per report; further steps are thinned."""


class Meter:
    """Measures elastic jobs."""

    def __init__(
        self,
        work: WorkModels,
        progress: StepProgress,
        paces: MachinePaces,
        subtask_errors: Floats | None = None,
    ) -> None:
        """`subtask_errors`: `(jobs, 2)` factors by which measured COMP and COMM are off; None: they
        are true.
        """
        self._work, self._progress, self._paces = work, progress, paces
        self._subtask_errors = subtask_errors
        self._reported: dict[int, int] = {}

    def goal(self, job: int) -> Goal | None:
        """The end condition that the job's user specifies; None for a job without a work model."""
        if job not in self._progress:
            return None
        target_loss = float(self._work.target_loss[job])
        if np.isfinite(target_loss):
            return Goal(target_loss)
        return Goal(None, float(self._work.planned_steps[job]))

    def data(self, job: int) -> DataSizes | None:
        """The bytes of a job that reports COMP and COMM; None for another one."""
        subtasks = self._work.subtasks
        if subtasks is None or self._progress.subtasks(job, 1) is None:
            return None
        sizes = int(subtasks.input_bytes[job]), int(subtasks.model_bytes[job])
        return DataSizes(*sizes, Overlap(int(subtasks.overlap[job])))

    def tried(self, job: int) -> list[Event]:
        """Speeds of a job in a few configurations, measured before it starts, at no cost.

        As Optimus does (section 3.2): with the fewest and the most workers and servers, and
        halfway.
        """
        if job not in self._progress:
            return []
        return [
            SpeedMeasured(job, workers, servers, self._progress.speed(job, workers, servers))
            for workers, servers in _tried(self._work, job)
        ]

    def read(self, running: Sequence[int], state: ClusterState) -> list[Event]:
        """Progress and speed measurements of these jobs."""
        found: list[Event] = []
        for number in running:
            if number in self._progress:
                before = self._reported.get(number, 0)
                found.append(self._read(number, state.now_us))
                if not self._paces.touch(state.placements[number]):
                    found.append(self._read_speed(number))
                    if self._reported[number] > max(before, 0):
                        found += self._read_subtasks(number)
        return found

    def capture(self) -> Mapping[int, int]:
        """The last reported step of every job."""
        return dict(self._reported)

    def restore(self, captured: Mapping[int, int]) -> None:
        """Report only steps after these."""
        self._reported = dict(captured)

    def _read(self, job: int, now_us: int) -> ProgressMeasured:
        done = self._progress.steps_done(job, now_us)
        first, last = self._reported.get(job, -1) + 1, int(done)
        points: tuple[tuple[float, float], ...] = ()
        if self._work.curve_of(job) is not None and last >= first:
            count = min(last - first + 1, MOST_NEW_POINTS)
            steps = np.unique(np.linspace(last, first, count).astype(np.int64))
            losses = self._work.loss(job, steps)
            points = tuple(zip(steps.astype(float).tolist(), losses.tolist(), strict=True))
        self._reported[job] = max(last, first - 1)
        return ProgressMeasured(job, done, points)

    def _read_subtasks(self, job: int) -> list[Event]:
        """COMP and COMM of the iterations that ended with the current workers."""
        workers = self._progress.roles(job)[0]
        times = self._progress.subtasks(job, workers)
        if times is None:
            return []
        off = (1.0, 1.0) if self._subtask_errors is None else self._subtask_errors[job].tolist()
        iteration_s = self._progress.efficiency(job) / self._progress.speed_now(job)
        return [
            SubtasksMeasured(
                job,
                workers,
                times.comp_s * off[0],
                times.comm_s * off[1],
                iteration_s,
                outside_s=times.outside_s * off[0] or None,
                overlaps=times.overlaps or None,
            )
        ]

    def _read_speed(self, job: int) -> SpeedMeasured:
        """Speed with the current workers and servers; callers skip jobs on slow machines, whose
        speed is not a property of the configuration.
        """
        return SpeedMeasured(job, *self._progress.roles(job), self._progress.speed_now(job))


class RepeatedReports:
    """Repeats what jobs reported once, as soon as they have done the work after which they did.

    Only a proposal of a size needs an instant of its own; the others wait for the next one.
    """

    def __init__(self, reports: JobReports, progress: StepProgress) -> None:
        self._reports, self._progress = reports, progress
        self._passed: dict[int, int] = {}

    def goal(self, job: int) -> Goal | None:
        """As it was."""
        return self._reports.goals.get(job)

    def data(self, job: int) -> DataSizes | None:
        """As it was."""
        return self._reports.data.get(job)

    def tried(self, job: int) -> list[Event]:
        """Nothing is tried before a start."""
        del job
        return []

    def read(self, running: Sequence[int], state: ClusterState) -> list[Event]:
        """What these jobs report now."""
        found: list[Event] = []
        for job in running:
            reports, place = self._reports.reports.get(job, ()), self._passed.get(job, 0)
            while place < len(reports) and self._has_done(job, reports[place][0], state.now_us):
                found.append(reports[place][1])
                place += 1
            if reports:
                self._passed[job] = place
        return found

    def next_us(self, running: Iterable[int]) -> int:
        """When the next one of these jobs proposes a size."""
        times_us = (self._next_proposal_us(job) for job in running)
        return min(times_us, default=NEVER_US)

    def capture(self) -> Mapping[int, int]:
        """How many reports of every job have passed."""
        return dict(self._passed)

    def restore(self, captured: Mapping[int, int]) -> None:
        """Continue after these."""
        self._passed = dict(captured)

    def _has_done(self, job: int, steps: int, now_us: int) -> bool:
        return job in self._progress and self._progress.has_done(job, steps, now_us)

    def _next_proposal_us(self, job: int) -> int:
        reports = self._reports.reports.get(job, ())
        for steps, event in reports[self._passed.get(job, 0) :]:
            if isinstance(event, SizeProposed):
                known = job in self._progress
                return self._progress.reaches_us(job, steps) if known else NEVER_US
        return NEVER_US


def _tried(work: WorkModels, job: int) -> list[tuple[int, int]]:
    """(workers, servers): corners of the feasible range, and its middle."""
    least_w, most_w = int(work.min_workers[job]), int(work.max_workers[job])
    least_s, most_s = int(work.min_servers[job]), int(work.max_servers[job])
    middle = (least_w + most_w) // 2, (least_s + most_s) // 2
    corners = [(w, s) for w in (least_w, most_w) for s in (least_s, most_s)]
    return list(dict.fromkeys([*corners, middle]))
