"""What an agent says for its experiment: the new rho with every stretch of the free GPUs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from motet.allocation.auction.division import speeds
from motet.allocation.auction.line import Line
from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.estimate.finish_time import JobWork, left_s, longest_job_s, rho, speed_together


@dataclass(frozen=True)
class Experiment:
    """One or more `jobs` of one model that would run if they had GPUs, all to end before it ends.

    `elapsed_s`: since its submission. `ideal_s`: T_ideal. `held_speed`: of its jobs that keep
    their GPUs whatever happens, and `held_gpu_s`: the service these still need.
    """

    jobs: tuple[JobWork, ...]
    elapsed_s: float
    ideal_s: float
    held_speed: float = 0.0
    held_gpu_s: float = 0.0

    @property
    def waiting(self) -> tuple[JobWork, ...]:
        """Its jobs that still need service."""
        return tuple(job for job in self.jobs if job.service_gpu_s > 0)

    @property
    def most(self) -> int:
        """More GPUs than that are of no use."""
        return sum(job.most for job in self.waiting)

    def speed_on_share(self, gpus: float) -> float:
        """Of its jobs that take turns on so many GPUs, which lie together."""
        return speed_together(self.waiting, gpus)

    def rho(self, speed: float, wait_s: float = 0.0) -> float:
        """Finish-time fairness if GPUs of this total speed come to those that it holds.

        `wait_s`: how long it does not run at all before.
        """
        left = left_s((*self.jobs, self._held), self.held_speed + speed)
        return rho(self.elapsed_s + wait_s, left, self.ideal_s)

    def values(self, speeds: Floats) -> Floats:
        """1 / rho with GPUs of these total speeds."""
        jobs = (*self.jobs, self._held)
        service_gpu_s = sum(job.service_gpu_s for job in jobs)
        if service_gpu_s == 0:
            return np.full(speeds.shape, 1 / self.rho(0.0))
        with np.errstate(divide="ignore"):
            left = np.maximum(service_gpu_s / (self.held_speed + speeds), longest_job_s(jobs))
        return self.ideal_s / (self.elapsed_s + left)

    @property
    def _held(self) -> JobWork:
        return JobWork.elastic(self.held_gpu_s, most=2**62)


@dataclass(frozen=True, eq=False)
class Bid:
    """`values: (kinds, most + 1)`: 1 / rho by kind of start and number of GPUs; 0: not wanted.

    Column 0, the value of no more GPUs, is the same for all kinds. `granularity`: GPUs of its
    largest gang; it is public, since it determines where in the line the bidder stands. Raises
    BadInput.
    """

    values: Floats
    granularity: int = 1

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.size == 0:
            raise BadInput(f"a bid of shape {self.values.shape}: give (kinds, most + 1)")
        if not (np.isfinite(self.values) & (self.values >= 0)).all():
            raise BadInput("a bid with values that are negative or not finite: give 1 / rho")
        if (self.values[:, 0] != self.values[0, 0]).any():
            raise BadInput("a bid whose value of no GPUs depends on where they are")

    @property
    def nothing(self) -> float:
        """What it is worth to win nothing."""
        return float(self.values[0, 0])

    @property
    def most(self) -> int:
        """The longest stretch it asks for."""
        return int(self.values.shape[1]) - 1


def bid_of(
    experiment: Experiment, line: Line, slowdowns: Floats, waiting_rho: float = math.inf
) -> Bid:
    """A truthful agent's bid. `slowdowns`: of its model, at least `experiment.most` long.

    `waiting_rho`: if it wins nothing and waits for the next auction, to have then, for example, its
    share (`Experiment.speed_on_share`): it refuses what is not better. Infinite, as in Themis: to
    win nothing is to never end, unless it holds GPUs. Raises BadInput if `slowdowns` are too
    short.
    """
    most = min(experiment.most, line.reach)
    if slowdowns.shape[1] <= most:
        raise BadInput(f"slowdowns of up to {slowdowns.shape[1] - 1} GPUs: {most} are wanted")
    found = speeds(experiment.waiting, line, slowdowns[:, : most + 1])
    granularity = max((job.least for job in experiment.waiting), default=1)
    return Bid(np.maximum(experiment.values(found), 1 / waiting_rho), granularity)
