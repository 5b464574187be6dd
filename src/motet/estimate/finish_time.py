"""Finish-time fairness: an experiment's time in a shared cluster relative to its own share.

Themis (Mahajan et al., NSDI 2020, section 3.1):

    rho = T_shared / T_ideal

T_ideal is the experiment's time from its submission to its end alone on 1/N of the cluster, with N
contending experiments; T_shared is its elapsed time plus its remaining time at its present speed.
rho <= 1 is the sharing incentive: no experiment would gain from a cluster of its own.

Remaining work is measured as service: GPU-seconds at the speed of contiguous GPUs. For a
hyper-parameter search it is the work until the search's rule stops it; the caller estimates it
(successive halving: the remaining rungs), and the end is that of the experiment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.domain.errors import BadInput
from motet.estimate.shares import GroupPieces, pieces_of, speeds_together


@dataclass(frozen=True)
class JobWork:
    """Work of a job: `service_gpu_s` of service, on `least` to `most` GPUs at a time (equal: a
    gang).

    `speeds`: service per second on `least`, `least` + 1, ..., `most` contiguous GPUs; 0 for numbers
    on which it cannot run, but not for the last one, which is the fastest. None: proportional to
    the number of GPUs. Raises BadInput.
    """

    service_gpu_s: float
    least: int
    most: int
    speeds: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.service_gpu_s) and self.service_gpu_s >= 0):
            raise BadInput(f"service_gpu_s={self.service_gpu_s}: it must be finite and at least 0")
        if not 1 <= self.least <= self.most:
            raise BadInput(f"least={self.least}, most={self.most}: give 1 <= least <= most")
        if self.speeds is not None:
            self._check(self.speeds)

    def _check(self, speeds: tuple[float, ...]) -> None:
        if len(speeds) != self.most - self.least + 1:
            raise BadInput(f"{len(speeds)} speeds on {self.least} to {self.most} GPUs: give all")
        if not 0 < speeds[-1] == max(speeds) < math.inf or min(speeds) < 0:
            raise BadInput(f"speeds={speeds}: none is negative, and the last one is the highest")

    @property
    def fastest(self) -> float:
        """The speed on all GPUs that the job can use."""
        return float(self.most) if self.speeds is None else self.speeds[-1]

    def speed(self, gpus: int) -> float:
        """The speed on this many contiguous GPUs; 0: the job cannot run on them."""
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

    `share_gpus`: GPUs of the cluster / N, possibly a fraction; a larger gang runs on more GPUs for
    a fraction of the time. `slowdown`: of that many GPUs on as few machines as possible (1: none).
    A job runs on at most `most` GPUs. Raises BadInput.
    """
    if share_gpus <= 0 or slowdown <= 0:
        raise BadInput(f"share_gpus={share_gpus}, slowdown={slowdown}: both must be positive")
    if not jobs:
        return 0.0
    together_s = sum(job.service_gpu_s for job in jobs) / speed_together(jobs, share_gpus)
    return slowdown * max(together_s, longest_job_s(jobs, share_gpus))


def longest_job_s(jobs: Sequence[JobWork], gpus: float = math.inf) -> float:
    """The longest time of a single job on the most GPUs that it can use, at most `gpus`."""
    if math.isinf(gpus):
        return max((job.service_gpu_s / job.fastest for job in jobs), default=0.0)
    return max((job.service_gpu_s / speed_together([job], gpus) for job in jobs), default=0.0)


def speed_together(jobs: Sequence[JobWork], gpus: float) -> float:
    """The total speed of jobs that share GPUs in turns; `gpus` can be a fraction."""
    return speeds_on_share([jobs], gpus)[0]


def speeds_on_share(groups: Sequence[Sequence[JobWork]], gpus: float) -> list[float]:
    """The total speed of each group's jobs when they share this many GPUs in turns."""
    found = [min(gpus, float(sum(job.most for job in jobs))) for jobs in groups]
    has_speeds = [any(job.speeds is not None for job in jobs) for jobs in groups]
    curved = [place for place, has in enumerate(has_speeds) if has]
    jobs = [job for place in curved for job in groups[place]]
    entries = [_widths(job) for job in jobs]
    if not entries:
        return found
    first = np.cumsum([0, *map(len, entries)])
    widths, speeds = np.array([entry for job in entries for entry in job]).T
    of = np.repeat(np.arange(len(curved)), [len(groups[place]) for place in curved])
    pieces = GroupPieces.of(pieces_of(first, widths, speeds), of, len(curved))
    together = speeds_together(pieces, np.full(len(curved), gpus)).tolist()
    for place, speed in zip(curved, together, strict=True):
        found[place] = speed
    return found


def _widths(job: JobWork) -> list[tuple[float, float]]:
    """Points (GPUs, speed) of the speed function, ascending."""
    if job.speeds is None:
        return [(job.most, job.most)]
    return [(gpus, speed) for gpus, speed in enumerate(job.speeds, start=job.least) if speed > 0]


def left_s(jobs: Sequence[JobWork], speed: float) -> float:
    """The time until all `jobs` have ended at a total speed of `speed` GPU-seconds per second.

    Assumes that jobs take turns so that this speed is kept until the end, and that no job exceeds
    its highest speed. The speed of a set of GPUs is their number over the slowdown of their
    placement. Infinite at speed 0, unless no work remains.
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
