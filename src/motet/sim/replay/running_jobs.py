"""Jobs that hold GPUs: their speeds, ends, and preemption costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from motet.domain.actions import Action, Migrate, Preempt, Start
from motet.domain.arrays import Ints
from motet.domain.events import Event, Resized, SpeedChanged, Started, Stopped
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import FULL_SPEED, NEVER_US
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.sharing import SHARED_SET
from motet.estimate.colocation.group_time import SubtaskTimes, group_iteration_s
from motet.estimate.exchange import Gang
from motet.sim.replay.agenda import Completions
from motet.sim.replay.attempts.failures import FailurePoint, Failures
from motet.sim.replay.attempts.start_ups import StartUps
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.step_progress import StepProgress
from motet.sim.speeds.speed_model import SpeedModel


class Pace(NamedTuple):
    """Training speed of a job: `ready_us`, `rate`, `alone_rate` of its events."""

    ready_us: int
    rate: int
    alone_rate: int


DRIVER_COLUMNS = {
    "finish_us": NEVER_US,
    "work_us": 0,
    "company": UNKNOWN,
    "overhead_us": 0,
    "restarts": 0,
    "charged_us": 0,
}
"""The simulator's private columns: time of completion at the present speed; for a stopped job,
remaining time alone on its full request; the set of jobs on its GPUs to which its speed is
adapted; its time in checkpoints and restores; how many of them were charged, and how long they
take if none is interrupted.
"""


class RunningJobs:
    """Applies actions to the simulator's columns, without delay, and reports the resulting events.

    `has_trained`: whether any job has made progress; the caller may reset it.
    """

    def __init__(
        self,
        state: ClusterState,
        speeds: SpeedModel,
        progress: StepProgress,
        paces: MachinePaces,
        starts: StartUps,
        completions: Completions,
        failures: Failures,
        duration_us: Ints,
    ) -> None:
        """`starts`: that are not done. `duration_us`: of every job, by number."""
        self._state, self._speeds, self._progress, self._paces = state, speeds, progress, paces
        self._starts, self._completions, self._failures = starts, completions, failures
        self._duration_us = duration_us
        self._moving: set[int] = set()
        self.has_trained = False

    def fail_at(self, points: Mapping[int, Sequence[FailurePoint]]) -> None:
        """Let jobs fail at these points, by number; also those that train already."""
        self._failures.take(points)
        finish_us = self._state.table.column("finish_us")
        for row in np.flatnonzero(finish_us != NEVER_US).tolist():
            number, rate = int(self._state.jobs.number[row]), int(self._state.jobs.rate[row])
            if number in self._progress:
                self._failures.trains(number, partial(self._progress.has_left_us, number))
            else:
                self._failures.trains(number, partial(_before, int(finish_us[row]), rate))

    def arrived(self, numbers: Iterable[int]) -> None:
        """Initialise the remaining work of new jobs, those suspended on arrival included."""
        state = self._state
        for number in numbers:
            if state.is_active(number):
                state.updated(number, {"work_us": int(self._duration_us[number])})

    def decided(self, changes: Iterable[Action]) -> None:
        """Stop jobs that the decision preempts or moves, in the order of the decision."""
        for action in changes:
            if not isinstance(action, Start):
                self._stop(self._state.table.row_of(action.job))
            if isinstance(action, Migrate):
                self._moving.add(action.job)

    def stop(self, number: int) -> None:
        """Stop a job that loses its GPUs without an action."""
        self._stop(self._state.table.row_of(number))
        self._paces.left(number)

    def left(self, number: int) -> None:
        """Remove a completed or withdrawn job."""
        if number in self._progress:
            self._progress.finished(number, self._state.now_us)
        self._completions.left(number)
        self._failures.rests(number)
        self._paces.left(number)

    def adapt_to_slots(self) -> list[Event]:
        """Let all jobs with a work model train that hold slots, and are not being started, after
        another driver let them."""
        table, jobs = self._state.table, self._state.jobs
        trains = (jobs.held_gpus > 0) & (table.column("finish_us") != NEVER_US)
        for row in np.flatnonzero(trains).tolist():
            if (number := int(jobs.number[row])) in self._progress:
                self._progress.trains(number, asynchronously=bool(jobs.is_asynchronous[row]))
        return [
            SpeedChanged(number, *self._change_speed(table.row_of(number)))
            for number in jobs.number[trains].tolist()
            if number in self._progress
        ]

    def adapt_to_partners(self) -> list[Event]:
        """Change the speed of jobs that share their GPUs with others than before; jobs that wait
        until others have left their GPUs do not train yet.
        """
        table, jobs = self._state.table, self._state.jobs
        changed = (table.column("company") != table.column(SHARED_SET)) & (jobs.held_gpus > 0)
        changed &= table.column("finish_us") != NEVER_US
        return [
            SpeedChanged(int(jobs.number[row]), *self._change_speed(row))
            for row in np.flatnonzero(changed).tolist()
            if jobs.number[row] not in self._starts
        ]

    def adapt_to_machines(self, numbers: Iterable[int]) -> list[Event]:
        """Change the speed of these jobs after a change of a machine's speed.

        Policies do not observe the change: the job's ready and start times stay.
        """
        found: list[Event] = []
        for number in numbers:
            row = self._state.table.row_of(number)
            ready_us = int(self._state.jobs.ready_us[row])
            found.append(SpeedChanged(number, ready_us, *self._change_speed(row)[1:]))
        return found

    def carried_out(self, action: Action) -> Event:
        """Release or occupy slots; a job that occupies some starts to train."""
        job = action.job
        if isinstance(action, Preempt):
            self._paces.left(job)
            return Stopped(job)
        row, rescales = (
            self._state.table.row_of(job),
            job in self._moving and self._rescales(action),
        )
        self._moving.discard(job)
        if job in self._progress:
            self._progress.trains(job, asynchronously=action.asynchronous)
        self._paces.came(job, action.placement)
        kind = Resized if isinstance(action, Migrate) else Started
        return kind(job, *self._begin(row, action.placement, rescales=rescales))

    def _rescales(self, action: Start | Migrate) -> bool:
        """Whether the action changes the job's numbers of workers or servers."""
        if action.job not in self._progress:
            return False
        return self._progress.roles(action.job) != (action.workers, action.servers)

    def _stop(self, row: int) -> None:
        """Save the progress of a job; an unfinished restore must be repeated."""
        table, now_us = self._state.table, self._state.now_us
        if table.column("finish_us")[row] == NEVER_US:
            return
        ready_us = int(table.jobs.ready_us[row])
        if now_us < ready_us:
            table.column("overhead_us")[row] -= ready_us - now_us
        self._keep_progress(row)
        number = int(table.jobs.number[row])
        self._completions.stop(number, row)
        self._failures.rests(number)

    def _keep_progress(self, row: int) -> None:
        """Subtract completed work from the remaining work."""
        table, now_us = self._state.table, self._state.now_us
        trained_us = now_us - int(table.jobs.ready_us[row])
        self.has_trained |= trained_us > 0
        number = int(table.jobs.number[row])
        if number in self._progress:
            table.column("work_us")[row] = self._progress.pause(number, now_us)
        elif trained_us >= 0:
            left_us = int(table.column("finish_us")[row]) - now_us
            table.column("work_us")[row] = left_us * int(table.jobs.rate[row]) // FULL_SPEED

    def _begin(self, row: int, placement: Placement, *, rescales: bool) -> Pace:
        jobs, now_us = self._state.jobs, self._state.now_us
        has_run = bool(jobs.first_start_us[row] < now_us)
        model, gpus = int(jobs.model[row]), sum(placement.counts)
        cost_of = self._speeds.rescale_cost_us if rescales else self._speeds.resume_cost_us
        cost_us = cost_of(model, gpus) if has_run else 0
        if cost_us:
            column = self._state.table.column
            column("overhead_us")[row] += cost_us
            column("charged_us")[row] += cost_us
            column("restarts")[row] += 1
        return self._continue(row, now_us + cost_us)

    def _change_speed(self, row: int) -> Pace:
        from_us = max(int(self._state.jobs.ready_us[row]), self._state.now_us)
        self._keep_progress(row)
        return self._continue(row, from_us)

    def _continue(self, row: int, from_us: int) -> Pace:
        """Continue at the speed that the placement and the jobs on it permit."""
        table, jobs = self._state.table, self._state.jobs
        model, number = int(jobs.model[row]), int(jobs.number[row])
        place = self._state.placements[number]
        table.column("company")[row] = table.column(SHARED_SET)[row]
        if number in self._progress:
            return self._continue_with_steps(row, number, place, from_us)
        speed = self._speeds.speed(model, place)
        if self._paces.touch(place):
            speed = max(round(speed / self._paces.slowest(place)), 1)
        alone_rate = speed
        if self._state.sharing.others(number):
            speed = max(round(speed * self._share(model, number, place)), 1)
        work_us = int(table.column("work_us")[row])

        def reaches_us(left_us: int) -> int:
            return from_us - (-max(work_us - left_us, 0) * FULL_SPEED // speed)

        self._completions.set(number, row, reaches_us(0))
        self._failures.trains(number, reaches_us)
        return Pace(from_us, speed, alone_rate)

    def _continue_with_steps(self, row: int, number: int, place: Placement, from_us: int) -> Pace:
        """As `_continue` for a job with a work model, by its own speed function."""
        jobs = self._state.jobs
        model = int(jobs.model[row])
        roles = int(jobs.held_workers[row]), int(jobs.held_servers[row])
        gang = Gang(*roles, int(jobs.worker_gpus[row]), int(jobs.server_gpus[row]))
        slowdown = self._speeds.slowdown(model, place, gang)
        speed = self._progress.speed(number, *roles, *slowdown)
        if self._paces.touch(place):
            speed = self._paces.steps_per_s(self._progress, number, roles, slowdown, place)
        efficiency = self._progress.efficiency(number)
        alone_rate = self._progress.rate(number, speed * efficiency)
        if others := self._state.sharing.others(number):
            together = self._speed_of_group([number, *others], place)
            speed = together or speed * self._share(model, number, place)
        speed *= efficiency
        finish_us = self._progress.begin(number, from_us, speed, *roles)
        self._completions.set(number, row, finish_us)
        self._failures.trains(number, partial(self._progress.has_left_us, number))
        return Pace(from_us, self._progress.rate(number, speed), alone_rate)

    def _share(self, model: int, number: int, place: Placement) -> float:
        """Relative speed of a job that shares its GPUs, by the models of the others on them."""
        table, models = self._state.table, self._state.jobs.model
        others = [int(models[table.row_of(job)]) for job in self._state.sharing.others(number)]
        return self._speeds.shared(model, others, place)

    def _speed_of_group(self, numbers: Sequence[int], place: Placement) -> float | None:
        """Iterations per second of each of these jobs, which share these machines, if all have COMP
        and COMM times; otherwise None.
        """
        times = [self._subtasks(number, place) for number in numbers]
        known = [each for each in times if each is not None]
        return 1 / group_iteration_s(known) if len(known) == len(times) else None

    def _subtasks(self, number: int, place: Placement) -> SubtaskTimes | None:
        """COMP and COMM of an iteration there; a slow machine lengthens COMP."""
        jobs, row = self._state.jobs, self._state.table.row_of(number)
        workers = int(jobs.held_workers[row])
        times = self._progress.subtasks(number, workers) if number in self._progress else None
        if times is None:
            return None
        gang = Gang(workers, 0, int(jobs.worker_gpus[row]), int(jobs.server_gpus[row]))
        slowdown = self._speeds.slowdown(int(jobs.model[row]), place, gang)
        pace = self._paces.slowest(place) if self._paces.touch(place) else 1.0
        return times.slowed(slowdown.computing, slowdown.communicating).slowed(pace, 1.0)


def _before(finish_us: int, rate: int, left_us: int) -> int:
    """When a job with this time of completion has only so much work left."""
    return finish_us - left_us * FULL_SPEED // rate
