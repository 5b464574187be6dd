"""Worth of a job as a function of its numbers of workers and servers. Compiled."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numba import njit

from motet.allocation.max_min_share import Demand
from motet.domain.arrays import Floats, Ints
from motet.domain.estimates import Estimates
from motet.estimate.speed_function import SpeedMode, speed

_STEPS = 24
_PROPORTIONAL = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
_speed = njit(cache=True)(speed)


class Speeds(NamedTuple):
    """Steps per second by row, see `motet.estimate.speed_function`; `parameters: (jobs, 6)`."""

    mode: Ints
    parameters: Floats

    @classmethod
    def of(cls, estimates: Estimates) -> Self:
        """Fitted speeds; unmeasured jobs get a speed proportional to their workers."""
        is_unknown = estimates.speed_mode == int(SpeedMode.UNKNOWN)
        mode = np.where(is_unknown, int(SpeedMode.ASYNC), estimates.speed_mode)
        return cls(mode, np.where(is_unknown[:, None], _PROPORTIONAL, estimates.speed))


class Worth(NamedTuple):
    """Worth of a job: `values[row]` at `steps[row]` steps in `seconds`, `(jobs, n)` with n > 1,
    both ascending, with linear interpolation; constant after the last point.

    Without points (n = 0): minus the seconds for `steps_left`.
    """

    speeds: Speeds
    seconds: float
    steps: Floats
    values: Floats
    steps_left: Floats

    @classmethod
    def of_points(cls, speeds: Speeds, seconds: float, steps: Floats, values: Floats) -> Self:
        """Worth of the steps within a time span."""
        return cls(speeds, float(seconds), steps, values, np.zeros(len(steps)))

    @classmethod
    def of_time(cls, speeds: Speeds, steps_left: Floats) -> Self:
        """Worth of an early end."""
        none = np.zeros((len(steps_left), 0))
        return cls(speeds, 0.0, none, none, steps_left)


@njit(cache=True)
def speed_of(speeds: Speeds, row: int, workers: int, servers: int) -> float:
    """Steps per second of one job."""
    return _speed(speeds.mode[row], speeds.parameters[row], workers, servers)


@njit(cache=True)
def speeds_with(speeds: Speeds, workers: Ints, servers: Ints) -> Floats:
    """Steps per second of all jobs, `(jobs,)`; 0 without workers."""
    found = np.empty(len(workers))
    for row in range(len(workers)):
        found[row] = speed_of(speeds, row, workers[row], servers[row])
    return found


@njit(cache=True)
def utility_at(utility: Worth, row: int, steps_per_s: float) -> float:
    """Worth of one job at this speed."""
    if utility.steps.shape[1] == 0:
        return -utility.steps_left[row] / steps_per_s if steps_per_s > 0.0 else -np.inf
    steps = utility.seconds * steps_per_s
    return float(np.interp(steps, utility.steps[row], utility.values[row]))


@njit(cache=True)
def utilities(utility: Worth, workers: Ints, servers: Ints) -> Floats:
    """Utilities of all jobs, `(jobs,)`."""
    found = np.empty(len(workers))
    for row in range(len(workers)):
        steps_per_s = speed_of(utility.speeds, row, workers[row], servers[row])
        found[row] = utility_at(utility, row, steps_per_s)
    return found


@njit(cache=True)
def fastest(speeds: Speeds, demand: Demand, gpus: int) -> Floats:
    """Approximate maximum speed of each job on at most `gpus` GPUs, `(jobs,)`.

    The maximum over numbers of workers and servers that are evenly spaced by their logarithms.
    """
    found = np.zeros(len(demand.workers))
    for row in range(len(found)):
        most = _most(demand.max_workers[row], demand.worker_gpus[row], gpus)
        most_servers = _most(demand.max_servers[row], demand.server_gpus[row], gpus)
        has_choice = most > demand.min_workers[row] or most_servers > demand.min_servers[row]
        for step in range(_STEPS if has_choice else 1):
            workers = _geometric_step(demand.min_workers[row], most, step)
            for servers in (
                demand.min_servers[row],
                _geometric_step(demand.min_servers[row], most_servers, step),
                most_servers,
            ):
                found[row] = max(found[row], speed_of(speeds, row, workers, servers))
    return found


@njit(cache=True)
def _most(limit: int, gpus_each: int, gpus: int) -> int:
    return min(limit, gpus // gpus_each) if gpus_each > 0 else limit


@njit(cache=True)
def _geometric_step(least: int, most: int, step: int) -> int:
    """A number from `least` to `most` in a geometric sequence."""
    if least <= 0 or most <= least:
        return max(most, least)
    return int(least * (most / least) ** (step / (_STEPS - 1)) + 0.5)
