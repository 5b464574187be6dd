"""Exact progress of elastic jobs at changing speeds.

Steps are counted in units of 2**-96 / 1,000,000 of a step, so that every floating-point speed is an
integer number of units per microsecond, and changes of speed cause no rounding.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ldexp

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.units import NEVER_US, SECOND_US
from motet.estimate.colocation.group_time import SubtaskTimes, group_iteration_s
from motet.estimate.colocation.subtask_profile import SubtaskProfile
from motet.estimate.speed_function import speed
from motet.sim.speeds.speed_model import Imbalance, balanced
from motet.sim.workload.elastic_work import ROLE_COLUMNS, WorkModels
from motet.sim.workload.measured_work import KnownSpeeds, MeasuredWork, steps_per_s

_BITS = 96
_STEP = SECOND_US << _BITS


@dataclass(frozen=True, eq=False)
class TrainedSteps:
    """A row per job and interval of constant speed; by end.

    `job`: its number. Steps grow linearly from `first_step` at `start_us` to `last_step` at
    `end_us`. `workers`, `servers`: in that interval.
    """

    job: Ints
    start_us: Ints
    end_us: Ints
    workers: Ints
    servers: Ints
    first_step: Floats
    last_step: Floats

    def __len__(self) -> int:
        return len(self.job)


@dataclass
class _Run:
    """`left`: units to the end at `begins_us`, when training starts at `pace` units per
    microsecond. `is_async`: a policy lets it overlap COMM and COMP.
    """

    steps: int
    left: int
    full_speed: float
    workers: int = 0
    servers: int = 0
    begins_us: int = 0
    pace: int = 0
    is_async: bool = False

    def left_at(self, now_us: int) -> int:
        return max(self.left - max(now_us - self.begins_us, 0) * self.pace, 0)

    def reaches_us(self, left: int) -> int:
        """When so many units are left, at the present pace; NEVER_US: it does not train."""
        if not self.pace:
            return NEVER_US
        return self.begins_us - (-max(self.left - left, 0) // self.pace)


@dataclass(frozen=True, eq=False)
class CapturedProgress:
    """State of a `StepProgress`: its jobs, and the columns of closed intervals."""

    runs: Mapping[int, _Run]
    whole: array[int]
    steps: array[float]


class StepProgress:
    """Progress of the jobs of a workload that have a work model; other jobs are not contained."""

    def __init__(self, work: WorkModels | None, imbalance: Imbalance = balanced) -> None:
        """`imbalance`: factor of the exchange time of a job with a given number of servers."""
        self.work = work
        self._imbalance = imbalance
        self._runs: dict[int, _Run] = {}
        self._whole = array("q")
        self._steps = array("d")

    def __contains__(self, job: int) -> bool:
        return job in self._runs

    def arrived(self, job: int) -> dict[str, int]:
        """Add a job. Returns its columns for the engine; none for a job without a work model."""
        work = self.work
        if work is None or not work.steps[job]:
            return {}
        steps = int(work.steps[job])
        self._runs[job] = _Run(steps, steps * _STEP, self._full_speed(work, job))
        own = work.columns(job) if isinstance(work, MeasuredWork) else {}
        return {**{name: int(getattr(work, name)[job]) for name in ROLE_COLUMNS}, **own}

    def roles(self, job: int) -> tuple[int, int]:
        """The last workers and servers of the job; 0 before its start."""
        run = self._runs[job]
        return run.workers, run.servers

    def mode(self, job: int) -> int:
        """The job's `SpeedMode`."""
        assert self.work is not None
        return int(self.work.speeds.mode[job])

    def subtasks(self, job: int, workers: int) -> SubtaskTimes | None:
        """COMP and COMM seconds of an iteration with this many workers; None: unknown."""
        if not workers or (times := self._usual_subtasks(job, workers)) is None:
            return None
        return times._replace(overlaps=True) if self._runs[job].is_async else times

    def _usual_subtasks(self, job: int, workers: int) -> SubtaskTimes | None:
        measured = self._measured(job)
        if isinstance(measured, SubtaskProfile):
            return measured.at(workers)
        subtasks = None if self.work is None else self.work.subtasks
        if subtasks is None or np.isnan(subtasks.comp_s[job]):
            return None
        return subtasks.times(job, workers)

    def trains(self, job: int, *, asynchronously: bool) -> None:
        """From its present start on, by the choice of a policy."""
        self._runs[job].is_async = asynchronously

    def efficiency(self, job: int) -> float:
        """The part of a step that an iteration is worth: 1 unless a policy switched the job."""
        subtasks = None if self.work is None else self.work.subtasks
        if subtasks is None or not self._runs[job].is_async:
            return 1.0
        return float(subtasks.async_efficiency[job])

    def speed(
        self,
        job: int,
        workers: int,
        servers: int,
        computing: float = 1.0,
        communicating: float = 1.0,
        exchanging: float = 1.0,
    ) -> float:
        """Steps per second, with these factors on the parts of a step."""
        assert self.work is not None
        if (times := self.subtasks(job, workers)) is not None:
            return 1 / group_iteration_s([times.slowed(computing, communicating)])
        if (measured := self._measured(job)) is not None:
            return steps_per_s(measured, workers, servers)
        mode, parameters = (
            int(self.work.speeds.mode[job]),
            self.work.speeds.parameters[job].tolist(),
        )
        exchanging *= self._imbalance(job, servers)
        return speed(mode, parameters, workers, servers, computing, communicating, exchanging)

    def begin(self, job: int, at_us: int, speed: float, workers: int, servers: int) -> int:
        """Start training at `at_us`, with `speed` steps per second. Returns the time of completion,
        in microseconds."""
        run = self._runs[job]
        run.workers, run.servers, run.begins_us = workers, servers, at_us
        run.pace = int(ldexp(speed, _BITS))
        return at_us - (-run.left // run.pace)

    def pause(self, job: int, now_us: int) -> int:
        """Stop training or end an interval. Returns the remaining time on the full request."""
        run = self._runs[job]
        if now_us > run.begins_us and run.pace:
            self._note(job, run, now_us)
        run.left, run.pace = run.left_at(now_us), 0
        return time_of_units(run.left, run.full_speed)

    def finished(self, job: int, now_us: int) -> None:
        """Remove a completed job."""
        self.pause(job, now_us)
        del self._runs[job]

    def rate(self, job: int, speed: float) -> int:
        """A speed relative to that on the full request, which is 10,000."""
        return max(round(10_000 * speed / self._runs[job].full_speed), 1)

    def steps_done(self, job: int, now_us: int) -> float:
        """Completed steps until now."""
        run = self._runs[job]
        return (run.steps * _STEP - run.left_at(now_us)) / _STEP

    def has_done(self, job: int, steps: int, now_us: int) -> bool:
        """Whether the job has completed so many steps."""
        run = self._runs[job]
        return run.left_at(now_us) <= (run.steps - steps) * _STEP

    def reaches_us(self, job: int, steps: int) -> int:
        """When a job that trains completes so many steps at its present speed; NEVER_US: it does
        not train."""
        run = self._runs[job]
        return run.reaches_us((run.steps - steps) * _STEP)

    def has_left_us(self, job: int, left_us: int) -> int:
        """When a job that trains has only this time left on its full request; NEVER_US: it does not
        train."""
        run = self._runs[job]
        return run.reaches_us(left_us * int(ldexp(run.full_speed, _BITS)))

    def speed_now(self, job: int) -> float:
        """Steps per second of a running job, including effects of machines and partners."""
        return ldexp(self._runs[job].pace, -_BITS)

    def capture(self) -> CapturedProgress:
        """The progress of all jobs."""
        runs = {job: replace(run) for job, run in self._runs.items()}
        return CapturedProgress(runs, self._whole[:], self._steps[:])

    def restore(self, captured: CapturedProgress) -> None:
        """Continue with this progress."""
        self._runs = {job: replace(run) for job, run in captured.runs.items()}
        self._whole, self._steps = captured.whole[:], captured.steps[:]

    def trained(self) -> TrainedSteps:
        """All closed intervals."""
        whole = np.array(self._whole, dtype=np.int64).reshape(-1, 5)
        steps = np.array(self._steps, dtype=np.float64).reshape(-1, 2)
        return TrainedSteps(*np.ascontiguousarray(whole.T), *np.ascontiguousarray(steps.T))

    def _measured(self, job: int) -> KnownSpeeds | None:
        """The measured speeds of a job; None: they follow from a formula."""
        known = self.work.measured[job] if isinstance(self.work, MeasuredWork) else None
        return None if known is None else known.speeds

    def _full_speed(self, work: WorkModels, job: int) -> float:
        workers, servers = int(work.workers[job]), int(work.servers[job])
        if (measured := self._measured(job)) is not None:
            return steps_per_s(measured, workers, servers)
        return work.full_speed(job)

    def _note(self, job: int, run: _Run, now_us: int) -> None:
        total = run.steps * _STEP
        self._whole.extend((job, run.begins_us, now_us, run.workers, run.servers))
        self._steps.extend(((total - run.left) / _STEP, (total - run.left_at(now_us)) / _STEP))


def time_of_units(units: int, speed: float) -> int:
    """Microseconds for this number of units of steps, rounded up. `speed`: steps per second."""
    return -(-units // int(ldexp(speed, _BITS)))
