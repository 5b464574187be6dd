"""Jobs that hold GPUs: how fast they run where they are, when they end, what their stops cost."""

from __future__ import annotations

import numpy as np

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US
from motet.engine.state import ClusterState
from motet.estimate.exchange import Gang
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.step_progress import StepProgress
from motet.sim.speeds.speed_model import FULL_SPEED, SpeedModel


class RunningJobs:
    """Carries out what an engine decided, in the columns of its table.

    `has_trained`: whether any job has made progress; who asks for it may take it back.
    """

    def __init__(
        self,
        state: ClusterState,
        speeds: SpeedModel,
        progress: StepProgress,
        paces: MachinePaces,
    ) -> None:
        self._state, self._speeds, self._progress, self._paces = state, speeds, progress, paces
        self.has_trained = False

    def carry_out(self, action: Action) -> None:
        """A job starts, moves or stops now."""
        table = self._state.table
        row = table.row_of(action.job)
        self._stop(row)
        if isinstance(action, Preempt):
            table.column("preemptions")[row] += 1
            self._paces.left(action.job)
            return
        rescales = self._rescales(action)
        if isinstance(action, Migrate):
            table.column("rescales" if rescales else "migrations")[row] += 1
        self._paces.came(action.job, action.placement)
        self._begin(row, action.placement, rescales=rescales)

    def finished(self, number: int) -> None:
        """A job is done."""
        if number in self._progress:
            self._progress.finished(number, self._state.now_us)
        self._paces.left(number)

    def adapt_to_company(self) -> None:
        """Jobs whose partner came, left or changed run at another speed from now on."""
        table, jobs = self._state.table, self._state.jobs
        changed = (table.column("company") != jobs.partner) & (jobs.held_gpus > 0)
        for row in np.flatnonzero(changed).tolist():
            jobs.ready_us[row] = self._change_speed(row)

    def adapt_to_machines(self, numbers: list[int]) -> None:
        """These jobs run at another speed from now on, as a machine of theirs does.

        Policies do not see that: a job was ready, and started, when it was.
        """
        for row in map(self._state.table.row_of, numbers):
            self._change_speed(row)

    def _rescales(self, action: Start | Migrate) -> bool:
        """Whether a job that runs goes on with other numbers of workers or servers."""
        if not isinstance(action, Migrate) or action.job not in self._progress:
            return False
        return self._progress.roles(action.job) != (action.workers, action.servers)

    def _stop(self, row: int) -> None:
        """Keep what a job has done; a resume that was not finished must be done again."""
        table, now_us = self._state.table, self._state.now_us
        finish = table.column("finish_us")
        if finish[row] == NEVER_US:
            return
        ready_us = int(table.jobs.ready_us[row])
        if now_us < ready_us:
            table.column("overhead_us")[row] -= ready_us - now_us
        self._keep_progress(row)
        finish[row] = NEVER_US

    def _keep_progress(self, row: int) -> None:
        """Take what has been done off the work that is left."""
        table, now_us = self._state.table, self._state.now_us
        trained_us = now_us - int(table.jobs.ready_us[row])
        self.has_trained |= trained_us > 0
        number = int(table.jobs.number[row])
        if number in self._progress:
            table.column("work_us")[row] = self._progress.pause(number, now_us)
        elif trained_us >= 0:
            left_us = int(table.column("finish_us")[row]) - now_us
            table.column("work_us")[row] = left_us * int(table.jobs.rate[row]) // FULL_SPEED

    def _begin(self, row: int, placement: Placement, *, rescales: bool) -> None:
        jobs, now_us = self._state.jobs, self._state.now_us
        has_run = bool(jobs.first_start_us[row] < now_us)
        model, gpus = int(jobs.model[row]), sum(placement.counts)
        cost_of = self._speeds.rescale_cost_us if rescales else self._speeds.resume_cost_us
        cost_us = cost_of(model, gpus) if has_run else 0
        self._state.table.column("overhead_us")[row] += cost_us
        jobs.ready_us[row] = now_us + cost_us
        self._go_on(row, now_us + cost_us)

    def _change_speed(self, row: int) -> int:
        """From when on, in microseconds."""
        from_us = max(int(self._state.jobs.ready_us[row]), self._state.now_us)
        self._keep_progress(row)
        self._go_on(row, from_us)
        return from_us

    def _go_on(self, row: int, from_us: int) -> None:
        """Run from then on, as fast as the place and the company allow."""
        table, jobs = self._state.table, self._state.jobs
        model, partner = int(jobs.model[row]), int(jobs.partner[row])
        number = int(jobs.number[row])
        place = self._state.placements[number]
        table.column("company")[row] = partner
        if number in self._progress:
            self._go_on_with_steps(row, number, place, from_us)
            return
        speed = self._speeds.speed(model, place)
        if self._paces.touch(place):
            speed = max(round(speed / self._paces.slowest(place)), 1)
        jobs.alone_rate[row] = speed
        if partner != UNKNOWN:
            other = int(jobs.model[table.row_of(partner)])
            speed = max(round(speed * self._speeds.shared(model, other, place)), 1)
        jobs.rate[row] = speed
        work_us = int(table.column("work_us")[row])
        table.column("finish_us")[row] = from_us - (-work_us * FULL_SPEED // speed)

    def _go_on_with_steps(self, row: int, number: int, place: Placement, from_us: int) -> None:
        """The same for a job with a work model: its own speed function says how fast it is."""
        table, jobs = self._state.table, self._state.jobs
        model, partner = int(jobs.model[row]), int(jobs.partner[row])
        roles = int(jobs.held_workers[row]), int(jobs.held_servers[row])
        gang = Gang(*roles, int(jobs.worker_gpus[row]), int(jobs.server_gpus[row]))
        slowdown = self._speeds.slowdown(model, place, gang)
        speed = self._progress.speed(number, *roles, *slowdown)
        if self._paces.touch(place):
            speed = self._paces.steps_per_s(self._progress, number, roles, slowdown, place)
        jobs.alone_rate[row] = self._progress.rate(number, speed)
        if partner != UNKNOWN:
            other = int(jobs.model[table.row_of(partner)])
            speed *= self._speeds.shared(model, other, place)
        jobs.rate[row] = self._progress.rate(number, speed)
        finish_us = self._progress.begin(number, from_us, speed, *roles)
        table.column("finish_us")[row] = finish_us
