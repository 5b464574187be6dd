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

from motet.domain.errors import BadInput


@dataclass(frozen=True)
class JobWork:
    """What a job needs: `service_gpu_s` more, on `least` to `most` GPUs at a time (equal: a gang).

    Raises BadInput.
    """

    service_gpu_s: float
    least: int
    most: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.service_gpu_s) and self.service_gpu_s >= 0):
            raise BadInput(f"service_gpu_s={self.service_gpu_s}: it must be finite and at least 0")
        if not 1 <= self.least <= self.most:
            raise BadInput(
                f"least={self.least}, most={self.most}: a job runs on 1 GPU or more, and at "
                "most on no fewer than at least"
            )

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
    usable = min(share_gpus, sum(job.most for job in jobs))
    together_s = sum(job.service_gpu_s for job in jobs) / usable if jobs else 0.0
    return slowdown * max(together_s, longest_job_s(jobs, share_gpus))


def longest_job_s(jobs: Sequence[JobWork], gpus: float = math.inf) -> float:
    """The longest that one of them takes with all the GPUs it can use, of `gpus` at most."""
    return max((job.service_gpu_s / min(job.most, gpus) for job in jobs), default=0.0)


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
