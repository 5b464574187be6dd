"""Tiresias' placement with a PACKLIMIT that is learned from running jobs.

A profiler observes a job's model skew, its placement and its speed. The planner compares a spread
gang with the highest speed of consolidated gangs (fewest machines and racks) of the same model,
size and GPU types. Observations without such a gang are kept until one has run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.cluster import ClusterSpec
from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import UNKNOWN, Placement
from motet.estimate.pack_limit import PackLimit
from motet.placement import machines
from motet.placement.machines import fewest_machines
from motet.placement.planner import Planner

HURTS = 1.05
"""A spread job that is slower by this factor should have been consolidated."""


class _Kind(NamedTuple):
    """A class of gangs with comparable speeds."""

    model: int
    gpus: int
    types: tuple[int, ...]


@dataclass(eq=False)
class LearnedSkewPlanner(Planner):
    """`together` places models whose skew exceeds the limit; other models fill fragments."""

    learns: ClassVar[bool] = True

    models: Sequence[ModelProfile]
    cluster: ClusterSpec
    together: Planner
    prior: float
    _limit: PackLimit = field(init=False)
    _fastest: dict[_Kind, int] = field(init=False, default_factory=dict)
    _uncompared: dict[_Kind, list[int]] = field(init=False, default_factory=dict)
    _fewest: dict[int, tuple[int, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._limit = PackLimit(self.prior)

    @property
    def pack_limit(self) -> float:
        """The current limit."""
        return self._limit.limit

    def place(self, free_gpus: Ints, gpus: int, model: int) -> Placement:
        """See `Planner.place`."""
        if self._skew(model) > self._limit.limit:
            return self.together.place(free_gpus, gpus, model)
        return machines.fragments(free_gpus, gpus)

    def observe(self, model: int, placement: Placement, rate: int) -> None:
        """See `Planner.observe`."""
        gpus = sum(placement.counts)
        if gpus == 1 or model == UNKNOWN:
            return
        types = {int(self.cluster.type[machine]) for machine in placement.machines}
        kind = _Kind(model, gpus, tuple(sorted(types)))
        if self._is_consolidated(placement, gpus):
            self._fastest[kind] = max(rate, self._fastest.get(kind, 0))
            for spread_rate in self._uncompared.pop(kind, ()):
                self._compare(kind, spread_rate)
        elif kind in self._fastest:
            self._compare(kind, rate)
        else:
            self._uncompared.setdefault(kind, []).append(rate)

    def _compare(self, kind: _Kind, spread_rate: int) -> None:
        is_hurt = spread_rate * HURTS < self._fastest[kind]
        self._limit.add(self._skew(kind.model), is_hurt)

    def _is_consolidated(self, placement: Placement, gpus: int) -> bool:
        if gpus not in self._fewest:
            rack_sizes = np.bincount(self.cluster.rack, self.cluster.gpus).astype(np.int64)
            fewest_racks = fewest_machines(rack_sizes, gpus)
            self._fewest[gpus] = fewest_machines(self.cluster.gpus, gpus), fewest_racks
        racks = {int(self.cluster.rack[machine]) for machine in placement.machines}
        return (len(placement.machines), len(racks)) == self._fewest[gpus]

    def _skew(self, model: int) -> float:
        profile = UNKNOWN_MODEL if model == UNKNOWN else self.models[model]
        return profile.skew
