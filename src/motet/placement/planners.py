"""Placement planners by name.

Tiresias (Gu et al., NSDI 2019, section 3.3) places by skew: models with a large tensor on one
parameter server are consolidated, all others fill fragments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import UNKNOWN, Placement
from motet.placement import machines
from motet.placement.planner import Planner

DEFAULT_PACK_LIMIT = 0.3
"""Between GoogLeNet's skew of 0.15, insensitive to spreading, and AlexNet's 0.61, sensitive."""


class CountPlanner(Planner):
    """The first free GPUs: for comparisons with simulators that do not model machines."""

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        del model
        return machines.in_order(np.arange(len(free_gpus)), free_gpus, gpus)


class ConsolidatingPlanner(Planner):
    """As few machines as possible for every gang."""

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        del model
        return machines.consolidated(free_gpus, gpus)


class FragmentPlanner(Planner):
    """The fullest machines first, so that empty ones stay empty."""

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        del model
        return machines.fragments(free_gpus, gpus)


class SpreadPlanner(Planner):
    """Every GPU on the machine with the most free ones, as Kubernetes places the pods of a job."""

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        del model
        return machines.spread(free_gpus, gpus)


@dataclass(frozen=True)
class SkewPlanner(Planner):
    """Consolidates models whose skew exceeds `pack_limit`; other models fill fragments.

    `together`: places the consolidated models.
    """

    models: Sequence[ModelProfile] = ()
    pack_limit: float = DEFAULT_PACK_LIMIT
    together: Planner = field(default_factory=ConsolidatingPlanner)

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        profile = UNKNOWN_MODEL if model == UNKNOWN else self.models[model]
        if profile.skew > self.pack_limit:
            return self.together.place(free_gpus, gpus, model)
        return machines.fragments(free_gpus, gpus)


@dataclass(frozen=True)
class KnownSkewPlanner(Planner):
    """Models of known skew as `by_skew` places them, others on the first free GPUs."""

    by_skew: SkewPlanner

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        planner = CountPlanner() if model == UNKNOWN else self.by_skew
        return planner.place(free_gpus, gpus, model)


class RandomPlanner(Planner):
    """Uniformly random free GPUs."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        del model
        slots = np.repeat(np.arange(len(free_gpus)), free_gpus)
        if len(slots) < gpus:
            raise ValueError(f"{gpus} GPUs requested, {len(slots)} free")
        drawn = self._generator.choice(slots, gpus, replace=False)
        chosen, counts = np.unique(drawn, return_counts=True)
        return Placement(tuple(chosen.tolist()), tuple(counts.tolist()))
