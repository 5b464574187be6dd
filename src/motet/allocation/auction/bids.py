"""Bids of agents for their experiments: 1 / rho for every stretch of the free GPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from motet.allocation.auction.division import JobSpeeds, Slowdowns, speed_tables
from motet.allocation.auction.line import Line
from motet.domain.arrays import Floats, Ints
from motet.domain.errors import BadInput
from motet.estimate.finish_time import JobWork, longest_job_s, rho, speed_together

_NO_LIMIT = 2**62


@dataclass(frozen=True)
class BiddingExperiment:
    """One or more `jobs` of one model that need GPUs; the experiment ends with its last job.

    `elapsed_s`: time since submission. `ideal_s`: T_ideal. `held_speed`: total speed of the jobs
    that keep their GPUs in any case; `held_gpu_s`: remaining service of these jobs.
    """

    jobs: tuple[JobWork, ...]
    elapsed_s: float
    ideal_s: float
    held_speed: float = 0.0
    held_gpu_s: float = 0.0

    @cached_property
    def waiting(self) -> tuple[JobWork, ...]:
        """Jobs with remaining service."""
        return tuple(job for job in self.jobs if job.service_gpu_s > 0)

    @cached_property
    def most(self) -> int:
        """The largest number of GPUs that the jobs can use."""
        return sum(job.most for job in self.waiting)

    @cached_property
    def service_gpu_s(self) -> float:
        """Remaining service of all jobs."""
        return sum(job.service_gpu_s for job in self.jobs) + self.held_gpu_s

    @cached_property
    def longest_s(self) -> float:
        """Longest time of a single job on the largest number of GPUs that it can use."""
        return max(longest_job_s(self.jobs), self.held_gpu_s / _NO_LIMIT)

    def speed_on_share(self, gpus: float) -> float:
        """Total speed of the waiting jobs when they share this many contiguous GPUs in turns."""
        return speed_together(self.waiting, gpus)

    def rho(self, speed: float, wait_s: float = 0.0) -> float:
        """Finish-time fairness with GPUs of this total speed in addition to the held GPUs.

        `wait_s`: time without progress before that.
        """
        return rho(self.elapsed_s + wait_s, self._left_s(self.held_speed + speed), self.ideal_s)

    def _left_s(self, speed: float) -> float:
        """As `motet.estimate.finish_time.left_s` of all jobs."""
        if self.service_gpu_s == 0:
            return 0.0
        return max(self.service_gpu_s / speed, self.longest_s) if speed > 0 else math.inf


@dataclass(frozen=True, eq=False)
class Bid:
    """`values: (kinds, most + 1)`: 1 / rho by kind of start and number of GPUs; 0: not wanted.

    Column 0, the value of no additional GPUs, is the same for all kinds. `granularity`: GPUs of the
    largest gang; it is public because it determines the bidder's position in the line. Raises
    BadInput.
    """

    values: Floats
    granularity: int = 1

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.size == 0:
            raise BadInput(f"a bid of shape {self.values.shape}: give (kinds, most + 1)")
        if not _are_finite(self.values):
            raise BadInput("a bid with values that are negative or not finite: give 1 / rho")
        if not _is_one_value(self.values[:, 0]):
            raise BadInput("a bid whose value of no GPUs depends on the kind of start")

    @property
    def nothing(self) -> float:
        """The value of winning nothing."""
        return float(self.values[0, 0])

    @property
    def most(self) -> int:
        """The length of the longest stretch that the bid covers."""
        return int(self.values.shape[1]) - 1


def bid_of(
    experiment: BiddingExperiment, line: Line, slowdowns: Floats, waiting_rho: float = math.inf
) -> Bid:
    """The bid of a truthful agent; see `bids_of`. `slowdowns`: of the experiment's model."""
    jobs = JobSpeeds.of([experiment.waiting], line.reach)
    (bid,) = bids_of([experiment], jobs, line, Slowdowns.of_each([slowdowns]), [waiting_rho])
    return bid


def bids_of(
    experiments: Sequence[BiddingExperiment],
    jobs: JobSpeeds,
    line: Line,
    slowdowns: Slowdowns,
    waiting_rhos: Sequence[float],
) -> list[Bid]:
    """The bids of truthful agents. `jobs`: the waiting jobs of each experiment. `slowdowns`: at
    least as long as the largest number of GPUs that any experiment can use.

    `waiting_rhos`: rho of each experiment if it wins nothing and waits for the next auction, for
    example to get its share then (`speed_on_share`); an agent refuses stretches that are not
    better. Infinite, as in Themis: an experiment that wins nothing never ends, unless it holds
    GPUs. Raises BadInput if `slowdowns` are too short.
    """
    most = np.array([min(each.most, line.reach) for each in experiments], dtype=np.int64)
    longest = slowdowns.table.shape[2] - 1
    if (most > longest).any():
        raise BadInput(f"slowdowns of up to {longest} GPUs: {most.max()} are required")
    speeds, ends = speed_tables(jobs, line, slowdowns, most)
    sizes = (most + 1) * line.kinds
    values = _values(experiments, speeds, sizes)
    refused = np.repeat(1 / np.array(waiting_rhos, dtype=np.float64), sizes)
    values = np.maximum(values, refused)
    return [
        Bid(
            values[end - size : end].reshape(line.kinds, -1),
            max((job.least for job in each.waiting), default=1),
        )
        for each, end, size in zip(experiments, ends.tolist(), sizes.tolist(), strict=True)
    ]


def _values(experiments: Sequence[BiddingExperiment], speeds: Floats, sizes: Ints) -> Floats:
    """1 / rho at total speeds; `sizes`: entries of each experiment."""
    rows = [
        (each.elapsed_s, each.ideal_s, each.held_speed, each.service_gpu_s, each.longest_s)
        for each in experiments
    ]
    columns = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    elapsed_s, ideal_s, held, service_gpu_s, longest_s = (np.repeat(c, sizes) for c in columns)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left_s = np.maximum(service_gpu_s / (held + speeds), longest_s)
        done, unfinished = 1 / (elapsed_s / ideal_s), ideal_s / (elapsed_s + left_s)
    return np.where(service_gpu_s == 0, done, unfinished)


@njit(cache=True)
def _are_finite(values: Floats) -> bool:
    """Whether all are 0 or more and finite. Compiled, as an auction has hundreds of small bids."""
    return bool(np.all((values >= 0) & (values < np.inf)))


@njit(cache=True)
def _is_one_value(values: Floats) -> bool:
    return bool(np.all(values == values[0]))
