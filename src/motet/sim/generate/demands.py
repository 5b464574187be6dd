"""CPUs and memory that jobs request beside their GPUs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.errors import BadInput
from motet.domain.units import GIGA
from motet.sim.generate.arguments import positive_numbers

DEMANDS = "CPUS,CPUS,GB,GB"


@dataclass(frozen=True)
class Demands:
    """Per GPU, log-uniform between two limits: whole CPUs, whole gigabytes of memory."""

    fewest_cpus: float
    most_cpus: float
    least_gb: float
    most_gb: float

    def cpus(self, gpus: Ints, rng: np.random.Generator) -> Ints:
        """`(jobs,)`, for all GPUs of a job."""
        return _log_uniform(self.fewest_cpus, self.most_cpus, len(gpus), rng) * gpus

    def memory_bytes(self, gpus: Ints, rng: np.random.Generator) -> Ints:
        """`(jobs,)`, for all GPUs of a job."""
        return _log_uniform(self.least_gb, self.most_gb, len(gpus), rng) * gpus * GIGA


def parse_demands(text: str) -> Demands:
    """Parses `per-gpu:1,8,4,64`: 1 to 8 CPUs and 4 to 64 GB. Raises BadInput."""
    if text.partition(":")[0] != "per-gpu":
        raise BadInput(f"--demands {text}: write per-gpu:{DEMANDS}")
    numbers = positive_numbers("--demands", text, DEMANDS.split(","), 4)
    for low, high in (numbers[:2], numbers[2:]):
        if low > high:
            raise BadInput(f"--demands {text}: {low:g} is above {high:g}; swap them")
    return Demands(*numbers)


def _log_uniform(low: float, high: float, size: int, rng: np.random.Generator) -> Ints:
    drawn = low * (high / low) ** rng.uniform(size=size)
    return np.maximum(np.rint(drawn), 1).astype(np.int64)
