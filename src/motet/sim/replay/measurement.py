"""What would be measured of simulated jobs: true losses and speeds, as they become known."""

from __future__ import annotations

import numpy as np

from motet.engine.measurements import Measurements
from motet.engine.state import ClusterState
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.step_progress import StepProgress
from motet.sim.workload.elastic_work import WorkModels

MOST_NEW_POINTS = 64
"""Of one report; of more steps some are left out."""


class Meter:
    """Reports to an engine's `Measurements`."""

    def __init__(
        self, work: WorkModels, progress: StepProgress, book: Measurements, paces: MachinePaces
    ) -> None:
        self._work, self._progress, self._book, self._paces = work, progress, book, paces
        self._reported: dict[int, int] = {}

    def arrived(self, job: int) -> None:
        """A job is there; its speed was tried in a few small configurations, at no cost.

        As Optimus does before a job starts (section 3.2): with the fewest and the most workers and
        servers, and halfway.
        """
        work = self._work
        target_loss = float(work.target_loss[job])
        planned = np.nan if np.isfinite(target_loss) else float(work.planned_steps[job])
        self._book.arrived(job, target_loss, planned)
        for workers, servers in _tried(work, job):
            self._book.ran(job, workers, servers, self._progress.speed(job, workers, servers))

    def read(self, state: ClusterState) -> None:
        """How far the jobs that run have come."""
        jobs = state.jobs
        for number in jobs.number[jobs.held_gpus > 0].tolist():
            if number in self._progress:
                self._read(number, state.now_us)
                if not self._paces.touch(state.placements[number]):
                    self._read_speed(number)

    def _read(self, job: int, now_us: int) -> None:
        done = self._progress.steps_done(job, now_us)
        first, last = self._reported.get(job, -1) + 1, int(done)
        points: list[tuple[float, float]] = []
        if self._work.curve_of(job) is not None and last >= first:
            count = min(last - first + 1, MOST_NEW_POINTS)
            steps = np.unique(np.linspace(last, first, count).astype(np.int64))
            losses = self._work.loss(job, steps)
            points = list(zip(steps.astype(float).tolist(), losses.tolist(), strict=True))
        self._reported[job] = max(last, first - 1)
        self._book.trained(job, done, points)

    def _read_speed(self, job: int) -> None:
        """With the workers and servers that it has; what a slow machine leaves of that is no
        measurement of them."""
        self._book.ran(job, *self._progress.roles(job), self._progress.speed_now(job))


def _tried(work: WorkModels, job: int) -> list[tuple[int, int]]:
    """(workers, servers): corners of what is possible, and its middle."""
    least_w, most_w = int(work.min_workers[job]), int(work.max_workers[job])
    least_s, most_s = int(work.min_servers[job]), int(work.max_servers[job])
    middle = (least_w + most_w) // 2, (least_s + most_s) // 2
    corners = [(w, s) for w in (least_w, most_w) for s in (least_s, most_s)]
    return list(dict.fromkeys([*corners, middle]))
