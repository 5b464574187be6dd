"""What it is worth that a job runs with so many workers and servers. Compiled."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numba import njit

from motet.allocation.max_min_share import Demand
from motet.domain.arrays import Floats, Ints
from motet.domain.estimates import Estimates
from motet.estimate.speed_function import SpeedMode, speed

_RUNGS = 24
_PROPORTIONAL = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
_speed = njit(cache=True)(speed)


class Speeds(NamedTuple):
    """Steps per second by row, see `motet.estimate.speed_function`; `parameters: (jobs, 6)`."""

    mode: Ints
    parameters: Floats

    @classmethod
    def of(cls, estimates: Estimates) -> Self:
        """As fitted; who was never measured is taken to be as fast as it has workers."""
        is_unknown = estimates.speed_mode == int(SpeedMode.UNKNOWN)
        mode = np.where(is_unknown, int(SpeedMode.ASYNC), estimates.speed_mode)
        return cls(mode, np.where(is_unknown[:, None], _PROPORTIONAL, estimates.speed))


class Worth(NamedTuple):
    """A job is worth `values[row]` where it makes `steps[row]` steps in `seconds`, `(jobs, n)`
    with n > 1, both ascending, and straight lines in between; from the last one on no more.

    Without such points (n = 0): minus the seconds that it takes to do `steps_left`.
    """

    speeds: Speeds
    seconds: float
    steps: Floats
    values: Floats
    steps_left: Floats

    @classmethod
    def of_points(cls, speeds: Speeds, seconds: float, steps: Floats, values: Floats) -> Self:
        """What is reached within some time."""
        return cls(speeds, seconds, steps, values, np.zeros(len(steps)))

    @classmethod
    def of_time(cls, speeds: Speeds, steps_left: Floats) -> Self:
        """To be done soon."""
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
def worth_at(worth: Worth, row: int, steps_per_s: float) -> float:
    """Of one job at that speed."""
    if worth.steps.shape[1] == 0:
        return -worth.steps_left[row] / steps_per_s if steps_per_s > 0.0 else -np.inf
    steps = worth.seconds * steps_per_s
    return float(np.interp(steps, worth.steps[row], worth.values[row]))


@njit(cache=True)
def worth_with(worth: Worth, workers: Ints, servers: Ints) -> Floats:
    """Of all jobs, `(jobs,)`."""
    found = np.empty(len(workers))
    for row in range(len(workers)):
        steps_per_s = speed_of(worth.speeds, row, workers[row], servers[row])
        found[row] = worth_at(worth, row, steps_per_s)
    return found


@njit(cache=True)
def fastest(speeds: Speeds, demand: Demand, gpus: int) -> Floats:
    """About the most steps per second that each job makes on at most so many GPUs, `(jobs,)`.

    The best of some numbers of workers and servers, evenly spread by their logarithms.
    """
    found = np.zeros(len(demand.workers))
    for row in range(len(found)):
        most = _most(demand.max_workers[row], demand.worker_gpus[row], gpus)
        most_servers = _most(demand.max_servers[row], demand.server_gpus[row], gpus)
        for rung in range(_RUNGS):
            workers = _rung(demand.min_workers[row], most, rung)
            for servers in (
                demand.min_servers[row],
                _rung(demand.min_servers[row], most_servers, rung),
                most_servers,
            ):
                found[row] = max(found[row], speed_of(speeds, row, workers, servers))
    return found


@njit(cache=True)
def _most(limit: int, gpus_each: int, gpus: int) -> int:
    return min(limit, gpus // gpus_each) if gpus_each > 0 else limit


@njit(cache=True)
def _rung(least: int, most: int, rung: int) -> int:
    """From `least` to `most` in equal ratios."""
    if least <= 0 or most <= least:
        return max(most, least)
    return int(least * (most / least) ** (rung / (_RUNGS - 1)) + 0.5)
