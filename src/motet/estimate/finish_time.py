"""Finish-time fairness: how much longer an experiment takes in a shared cluster than in its share.

Themis (Mahajan et al., NSDI 2020, section 3.1):

    rho = T_shared / T_ideal

T_ideal is the experiment's time from its submission to its end alone on 1/N of the cluster, N
experiments contending; T_shared what it has taken so far and what it will still take at its present
speed. Nobody is worse off than with a cluster of its own if rho <= 1 (the sharing incentive).

What is left is counted as service: GPU-seconds at the speed of GPUs that lie together. For a search
over hyper-parameters it is what the search will still run until its rule stops it; who calls
estimates that (successive halving: the remaining rungs), and the end is the experiment's own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.errors import BadInput
from motet.estimate.shares import pieces_of, speeds_together


@dataclass(frozen=True)
class JobWork:
    """What a job needs: `service_gpu_s` more, on `least` to `most` GPUs at a time (equal: a gang).

    `speeds`: how much of it per second on `least`, `least` + 1, ..., `most` GPUs that lie together;
    0 on numbers that it cannot run on, never on the last one, which is the fastest. None: as much
    as there are GPUs. Raises BadInput.
    """

    service_gpu_s: float
    least: int
    most: int
    speeds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.service_gpu_s) and self.service_gpu_s >= 0):
            raise BadInput(f"service_gpu_s={self.service_gpu_s}: it must be finite and at least 0")
        if not 1 <= self.least <= self.most:
            raise BadInput(
                f"least={self.least}, most={self.most}: a job runs on 1 GPU or more, and at "
                "most on no fewer than at least"
            )
        if self.speeds is not None:
            self._check(self.speeds)

    def _check(self, speeds: tuple[float, ...]) -> None:
        if len(speeds) != self.most - self.least + 1:
            raise BadInput(f"{len(speeds)} speeds on {self.least} to {self.most} GPUs: give all")
        if not 0 < speeds[-1] == max(speeds) < math.inf or min(speeds) < 0:
            raise BadInput(f"speeds={speeds}: none is negative, and the last one is the highest")

    @property
    def fastest(self) -> float:
        """Its speed on all GPUs that it can use."""
        return float(self.most) if self.speeds is None else self.speeds[-1]

    def speed(self, gpus: int) -> float:
        """On so many that lie together; 0: it cannot run on them."""
        if not self.least <= gpus <= self.most:
            return 0.0
        return float(gpus) if self.speeds is None else self.speeds[gpus - self.least]

    @classmethod
    def gang(cls, service_gpu_s: float, gpus: int) -> JobWork:
        """A job that runs on exactly `gpus` GPUs."""
        return cls(service_gpu_s, gpus, gpus)

    @classmethod
    def elastic(cls, service_gpu_s: float, most: int) -> JobWork:
        """A job that runs on any number of GPUs up to `most`."""
        return cls(service_gpu_s, 1, most)


def ideal_s(jobs: Sequence[JobWork], share_gpus: float, slowdown: float = 1.0) -> float:
    """T_ideal: the time of an experiment, all of its jobs from their start, on its own share.

    `share_gpus`: GPUs of the cluster / N, a fraction where N does not divide them; a gang larger
    than that takes turns in more of them. `slowdown`: of that many GPUs on as few machines as can
    be (1: none). No job runs on more GPUs than it can use. Raises BadInput.
    """
    if share_gpus <= 0 or slowdown <= 0:
        raise BadInput(f"share_gpus={share_gpus}, slowdown={slowdown}: both must be positive")
    if not jobs:
        return 0.0
    together_s = sum(job.service_gpu_s for job in jobs) / speed_together(jobs, share_gpus)
    return slowdown * max(together_s, longest_job_s(jobs, share_gpus))


def longest_job_s(jobs: Sequence[JobWork], gpus: float = math.inf) -> float:
    """The longest that one of them takes with all the GPUs it can use, of `gpus` at most."""
    if math.isinf(gpus):
        return max((job.service_gpu_s / job.fastest for job in jobs), default=0.0)
    return max((job.service_gpu_s / speed_together([job], gpus) for job in jobs), default=0.0)


def speed_together(jobs: Sequence[JobWork], gpus: float) -> float:
    """The total speed of jobs that take turns on GPUs, also on a fraction of one."""
    if all(job.speeds is None for job in jobs):
        return min(gpus, sum(job.most for job in jobs))
    entries = [_widths(job) for job in jobs]
    first = np.cumsum([0, *map(len, entries)])
    widths, speeds = np.array([entry for job in entries for entry in job]).T
    pieces = pieces_of(first, widths, speeds)
    return float(speeds_together(pieces, np.zeros(len(jobs), dtype=np.int64), [gpus])[0])


def _widths(job: JobWork) -> list[tuple[float, float]]:
    """(GPUs, speed), ascending, of which the function consists."""
    if job.speeds is None:
        return [(job.most, job.most)]
    return [(gpus, speed) for gpus, speed in enumerate(job.speeds, start=job.least) if speed > 0]


def left_s(jobs: Sequence[JobWork], speed: float) -> float:
    """The time until all `jobs` have ended at a total speed of `speed` GPU-seconds per second.

    Jobs take turns so that the speed is kept to the end, and none is faster than it can be. The
    speed of some GPUs is their number over the slowdown of their placement. Infinite at speed 0,
    unless nothing is left.
    """
    service_gpu_s = sum(job.service_gpu_s for job in jobs)
    if service_gpu_s == 0:
        return 0.0
    return max(service_gpu_s / speed, longest_job_s(jobs)) if speed > 0 else math.inf


def rho(elapsed_s: float, left_s: float, ideal_s: float) -> float:
    """T_shared / T_ideal. `elapsed_s`: since submission; all times in one unit. Raises BadInput."""
    if ideal_s <= 0 or elapsed_s < 0:
        raise BadInput(
            f"ideal_s={ideal_s}, elapsed_s={elapsed_s}: the first must be positive, the second at "
            "least 0"
        )
    return (elapsed_s + left_s) / ideal_s
