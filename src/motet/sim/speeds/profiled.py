"""Speeds of jobs as a function of their placement, and costs of preemptions.

A gang on several machines is slowed by its model's skew: `motet.estimate.spread` has the formula
and its source, with w of its workers together where w* could be.

Machines of a rack are connected by RDMA, racks by Ethernet (the analysis of Philly's logs, Jeon et
al., ATC 2019), so a gang that is spread over racks is slowed further, by r of r* workers.

For jobs with parameter servers, `motet.estimate.exchange` replaces the skew formula, since the
traffic between workers and servers is known.

If the types of the machines and the model are known, measurements replace the formulas
(`motet.sim.profiles`): a gang runs at the speed of its slowest machine relative to the fastest type
of the cluster, its slowdown by spreading is the measured one with every GPU on a separate machine,
scaled by 1 - w / w*, and packed jobs run at the measured speeds of the pair.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Ints
from motet.domain.model_profile import UNKNOWN_MODEL, ModelProfile
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import FULL_SPEED, microseconds
from motet.estimate.exchange import Gang, exchange_factor, gang_shares
from motet.estimate.spread import RACK_SLOWDOWN, by_skew, part_apart
from motet.sim.profiles import MeasuredSpeeds, ProfileTable
from motet.sim.speeds.speed_model import MachinesDoNotMatter, Slowdown

_SHARING_LOSS = 0.95
_NOTHING = ProfileTable()


class ProfiledSpeeds:
    """A `SpeedModel` from model profiles and measurements."""

    def __init__(
        self,
        sizes: Ints,
        models: Sequence[ModelProfile],
        restart_us: int | None,
        racks: Ints | None = None,
        measured: MeasuredSpeeds | None = None,
        rescale_us: int | None = None,
    ) -> None:
        """`sizes`, `racks`: GPUs and rack of each machine (None: one rack). `restart_us`: None:
        from the profiles. `rescale_us`: None: the restart time.
        """
        self._largest = int(sizes.max())
        self._models = models
        self._restart_us = restart_us
        self._rescale_us = rescale_us
        self._restarts_us: dict[tuple[int, int], int] = {}
        racks = np.zeros_like(sizes) if racks is None else racks
        self._largest_rack = int(np.bincount(racks, sizes).max())
        self._racks = racks if len(np.unique(racks)) > 1 else None
        self._measured = measured or MeasuredSpeeds(_NOTHING, (), ["gpu"] * len(sizes))

    @property
    def together_gpus(self) -> int:
        """See SpeedModel."""
        return self._largest

    def speed(self, model: int, placement: Placement) -> int:
        """See SpeedModel."""
        speed = float(FULL_SPEED)
        if len(placement.machines) > 1:
            speed /= 1 + self._spread_slowdown(model, placement)
        if self._measured.is_mixed:
            gpus = sum(placement.counts)
            speed *= self._measured.relative(model, gpus, placement.machines)
        return max(round(speed), 1)

    def slowdown(self, model: int, placement: Placement, gang: Gang) -> Slowdown:
        """See SpeedModel. The machines' type scales computing, their distance the rest: for jobs
        with servers the placement of workers and servers, and rack boundaries.
        """
        relative = 1.0
        if self._measured.is_mixed:
            relative = self._measured.relative(model, sum(placement.counts), placement.machines)
        if gang.servers:
            exchanging = exchange_factor(gang_shares(placement.counts, gang))
            return Slowdown(1 / relative, 1 + self._rack_slowdown(model, placement), exchanging)
        spread = self._spread_slowdown(model, placement) if len(placement.machines) > 1 else 0.0
        return Slowdown(1 / relative, 1 + spread)

    def shared(self, model: int, others: Sequence[int], placement: Placement) -> float:
        """See SpeedModel. The measured speed of a pair; without a measurement, and for more jobs,
        busy times add up and idle time is filled.
        """
        gpus = sum(placement.counts)
        if len(others) == 1:
            share = self._measured.beside(model, others[0], gpus, placement.machines)
            if share is not None:
                return share
        busy = sum(self._gpu_busy(each, gpus) for each in (model, *others))
        return min(1.0, 1 / max(busy, 1e-6)) * _SHARING_LOSS

    def resume_cost_us(self, model: int, gpus: int) -> int:
        """See SpeedModel."""
        if self._restart_us is not None:
            return self._restart_us
        found = self._restarts_us.get((model, gpus))
        if found is None:
            found = self._restarts_us[model, gpus] = microseconds(self._restart_s(model, gpus))
        return found

    def rescale_cost_us(self, model: int, gpus: int) -> int:
        """See SpeedModel."""
        if self._rescale_us is not None:
            return self._rescale_us
        return self.resume_cost_us(model, gpus)

    def _restart_s(self, model: int, gpus: int) -> float:
        """As measured, otherwise as published, otherwise the median of the known models."""
        for known_s in (self._measured.restart_s(model, gpus), self._profile(model).restart_s):
            if known_s is not None:
                return known_s
        return self._measured.typical_restart_s(gpus)

    def _spread_slowdown(self, model: int, placement: Placement) -> float:
        """Relative increase of the step time of a gang on several machines; 0: none."""
        gpus = sum(placement.counts)
        most_together = min(gpus, self._largest)
        of_skew = by_skew(self._profile(model).skew)
        when_spread = self._measured_slowdown(model, gpus, placement, most_together)
        slowdown = of_skew if when_spread is None else when_spread
        slowdown *= part_apart(placement.counts, self._largest)
        return slowdown + self._rack_slowdown(model, placement)

    def _rack_slowdown(self, model: int, placement: Placement) -> float:
        """The part of that increase due to rack boundaries."""
        if self._racks is None:
            return 0.0
        per_part = RACK_SLOWDOWN + by_skew(self._profile(model).skew)
        return per_part * self._part_in_other_racks(placement, sum(placement.counts))

    def _measured_slowdown(
        self, model: int, gpus: int, placement: Placement, most_together: int
    ) -> float | None:
        """Per 1 - w / w*; None without a measurement."""
        if not self._measured.is_typed or most_together == 1:
            return None
        spread = self._measured.spread(model, gpus, placement.machines)
        return None if spread is None else (1 / spread - 1) / (1 - 1 / most_together)

    def _part_in_other_racks(self, placement: Placement, gpus: int) -> float:
        """1 - r / r*."""
        assert self._racks is not None
        in_rack: dict[int, int] = {}
        for machine, count in zip(*placement, strict=True):
            rack = int(self._racks[machine])
            in_rack[rack] = in_rack.get(rack, 0) + count
        return 1 - max(in_rack.values()) / min(gpus, self._largest_rack)

    def _gpu_busy(self, model: int, gpus: int) -> float:
        measured = self._measured.gpu_busy(model, gpus)
        return self._profile(model).gpu_busy if measured is None else measured

    def _profile(self, model: int) -> ModelProfile:
        return UNKNOWN_MODEL if model == UNKNOWN else self._models[model]


class ProfiledRestarts(MachinesDoNotMatter, ProfiledSpeeds):
    """Placement does not affect speeds, but preemptions have the costs of the profiles."""
