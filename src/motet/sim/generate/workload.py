"""A workload from a recipe and a random generator."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from motet.domain.errors import BadInput
from motet.domain.units import MILLISECOND_US, SECOND_US
from motet.sim.generate.arrivals import Arrivals, Poisson
from motet.sim.generate.demands import Demands
from motet.sim.generate.durations import Bins, Durations
from motet.sim.generate.mix import TIRESIAS_480, Mix
from motet.sim.workload.workload import Workload

MOST_JOBS = 10_000_000
_LATEST_US = 1e15


@dataclass(frozen=True)
class Recipe:
    """A recipe; by default Tiresias' testbed workload: 480 jobs, one every 30 s on average."""

    jobs: int = 480
    mix: Mix = TIRESIAS_480
    arrivals: Arrivals = field(default_factory=lambda: Poisson(30.0))
    durations: Durations = field(default_factory=Bins)
    demands: Demands | None = None


def generate(recipe: Recipe, rng: np.random.Generator) -> Workload:
    """Draw a workload; the first job arrives at 0, ids count from 0 in order of arrival.

    GPUs, models, durations, gaps and demands have separate random streams, so that a change of one
    recipe line leaves the others unchanged. Times are whole milliseconds. Raises BadInput.
    """
    if not 1 <= recipe.jobs <= MOST_JOBS:
        raise BadInput(f"--jobs {recipe.jobs}: must be within 1 to {MOST_JOBS:,}")
    for_gpus, for_models, for_durations, for_gaps, for_cpus, for_memory = rng.spawn(6)
    gpus = recipe.mix.gpus(recipe.jobs, for_gpus)
    durations_s = recipe.durations.seconds(gpus, recipe.mix, for_durations)
    gaps_s = recipe.arrivals.gaps_s(recipe.jobs - 1, for_gaps)
    demands = recipe.demands
    return Workload.of(
        [str(number) for number in range(recipe.jobs)],
        whole_milliseconds("--arrivals", np.concatenate([[0.0], np.cumsum(gaps_s)])),
        np.maximum(whole_milliseconds("--durations", durations_s), MILLISECOND_US),
        gpus,
        models=recipe.mix.model_names(recipe.jobs, for_models),
        cpus=demands.cpus(gpus, for_cpus) if demands else 0,
        memory_bytes=demands.memory_bytes(gpus, for_memory) if demands else 0,
    )


def whole_milliseconds(option: str, times_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Microseconds, truncated to whole milliseconds."""
    times_us = times_s * SECOND_US
    if not (times_us < _LATEST_US).all():
        raise BadInput(f"{option}: a time exceeds {_LATEST_US / SECOND_US:g} s; use smaller values")
    return np.floor(times_us / MILLISECOND_US + 1e-6).astype(np.int64) * MILLISECOND_US
