"""How far elastic jobs have come, exactly, whatever their speeds were.

Steps are counted in units of 2**-96 / 1,000,000 of a step, so that a speed in floating point is a
whole number of units per microsecond, and no change of speed ever rounds.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ldexp

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.domain.units import SECOND_US
from motet.estimate.speed_function import speed
from motet.sim.speeds.speed_model import Imbalance, balanced
from motet.sim.workload.elastic_work import ROLE_COLUMNS, WorkModels

_BITS = 96
_STEP = SECOND_US << _BITS


@dataclass(frozen=True, eq=False)
class TrainedSteps:
    """A row per job and time without change of its speed; in between it did not train.

    By end. `job`: its number. Steps grow in proportion to time from `first_step` at `start_us` to
    `last_step` at `end_us`. `workers`, `servers`: that it had.
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
    """`left`: units to the end, when it `begins_us` to train at `pace` units per microsecond."""

    steps: int
    left: int
    full_speed: float
    workers: int = 0
    servers: int = 0
    begins_us: int = 0
    pace: int = 0

    def left_at(self, now_us: int) -> int:
        return max(self.left - max(now_us - self.begins_us, 0) * self.pace, 0)


@dataclass(frozen=True, eq=False)
class CapturedProgress:
    """Of a `StepProgress`: its jobs, and the columns of what has been trained."""

    runs: Mapping[int, _Run]
    whole: array[int]
    steps: array[float]


class StepProgress:
    """Of the jobs of a workload that have a model; the others it does not know."""

    def __init__(self, work: WorkModels | None, imbalance: Imbalance = balanced) -> None:
        """`imbalance`: how many times as long exchanging takes a job with so many servers."""
        self.work = work
        self._imbalance = imbalance
        self._runs: dict[int, _Run] = {}
        self._whole = array("q")
        self._steps = array("d")

    def __contains__(self, job: int) -> bool:
        return job in self._runs

    def arrived(self, job: int) -> dict[str, int]:
        """A job is there: what the engine shall know of it; nothing of one without a model."""
        work = self.work
        if work is None or not work.steps[job]:
            return {}
        steps = int(work.steps[job])
        full = float(work.speeds.take([job]).steps_per_s(work.workers[job], work.servers[job])[0])
        self._runs[job] = _Run(steps, steps * _STEP, full)
        return {name: int(getattr(work, name)[job]) for name in ROLE_COLUMNS}

    def roles(self, job: int) -> tuple[int, int]:
        """Workers and servers with which it ran last; none before."""
        run = self._runs[job]
        return run.workers, run.servers

    def mode(self, job: int) -> int:
        """Its `SpeedMode`."""
        assert self.work is not None
        return int(self.work.speeds.mode[job])

    def speed(
        self,
        job: int,
        workers: int,
        servers: int,
        computing: float = 1.0,
        communicating: float = 1.0,
        exchanging: float = 1.0,
    ) -> float:
        """Steps per second, where these parts of a step take so many times as long."""
        assert self.work is not None
        mode, parameters = (
            int(self.work.speeds.mode[job]),
            self.work.speeds.parameters[job].tolist(),
        )
        exchanging *= self._imbalance(job, servers)
        return speed(mode, parameters, workers, servers, computing, communicating, exchanging)

    def begin(self, job: int, at_us: int, steps_per_s: float, workers: int, servers: int) -> int:
        """It trains from then on: when it is done, in microseconds."""
        run = self._runs[job]
        run.workers, run.servers, run.begins_us = workers, servers, at_us
        run.pace = int(ldexp(steps_per_s, _BITS))
        return at_us - (-run.left // run.pace)

    def pause(self, job: int, now_us: int) -> int:
        """It stops, or changes its speed: the time that it would still need on its full request."""
        run = self._runs[job]
        if now_us > run.begins_us and run.pace:
            self._note(job, run, now_us)
        run.left, run.pace = run.left_at(now_us), 0
        return time_of_units(run.left, run.full_speed)

    def finished(self, job: int, now_us: int) -> None:
        """It is done."""
        self.pause(job, now_us)
        del self._runs[job]

    def rate(self, job: int, steps_per_s: float) -> int:
        """A speed against that on its full request, which is 10,000."""
        return max(round(10_000 * steps_per_s / self._runs[job].full_speed), 1)

    def steps_done(self, job: int, now_us: int) -> float:
        """Until now."""
        run = self._runs[job]
        return (run.steps * _STEP - run.left_at(now_us)) / _STEP

    def speed_now(self, job: int) -> float:
        """Steps per second of a job that runs, machines and company included."""
        return ldexp(self._runs[job].pace, -_BITS)

    def capture(self) -> CapturedProgress:
        """How far all jobs have come."""
        runs = {job: replace(run) for job, run in self._runs.items()}
        return CapturedProgress(runs, self._whole[:], self._steps[:])

    def restore(self, captured: CapturedProgress) -> None:
        """They have come that far."""
        self._runs = {job: replace(run) for job, run in captured.runs.items()}
        self._whole, self._steps = captured.whole[:], captured.steps[:]

    def trained(self) -> TrainedSteps:
        """All that has ended."""
        whole = np.array(self._whole, dtype=np.int64).reshape(-1, 5)
        steps = np.array(self._steps, dtype=np.float64).reshape(-1, 2)
        return TrainedSteps(*np.ascontiguousarray(whole.T), *np.ascontiguousarray(steps.T))

    def _note(self, job: int, run: _Run, now_us: int) -> None:
        total = run.steps * _STEP
        self._whole.extend((job, run.begins_us, now_us, run.workers, run.servers))
        self._steps.extend(((total - run.left) / _STEP, (total - run.left_at(now_us)) / _STEP))


def time_of_units(units: int, steps_per_s: float) -> int:
    """Microseconds that so many units of steps take, rounded up."""
    return -(-units // int(ldexp(steps_per_s, _BITS)))
