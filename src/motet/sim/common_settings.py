"""The settings that every policy accepts, from text: placement, costs, profiles, slow machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, UnknownName
from motet.domain.model_profile import ModelProfile
from motet.domain.policy import Policy
from motet.domain.queues.queue_file import read_queue_file
from motet.domain.queues.queue_limits import QueueLimits
from motet.domain.units import LONGEST_S, microseconds
from motet.engine.actions.preemption_limits import PreemptionLimits
from motet.engine.policy_loading.engine_settings import ENGINE_SETTINGS, preemption_limits
from motet.placement.ilp import IlpPlanner
from motet.placement.learned_skew import LearnedSkewPlanner
from motet.placement.planner import Planner
from motet.placement.planners import (
    DEFAULT_PACK_LIMIT,
    ConsolidatingPlanner,
    CountPlanner,
    FragmentPlanner,
    RandomPlanner,
    SkewPlanner,
    SpreadPlanner,
)
from motet.placement.racks import RackPlanner
from motet.sim.profiles import MeasuredSpeeds, ProfileTable, bundled_profiles, open_profiles
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.slow_machines import NO_MACHINES, Spells, pace_changes, parse_spells
from motet.sim.speeds.profiled import ProfiledRestarts, ProfiledSpeeds
from motet.sim.speeds.server_balance import division_named, imbalance_of
from motet.sim.speeds.speed_model import Imbalance, SameEverywhere, SpeedModel
from motet.sim.workload.workload import Workload

PLACEMENTS = ("consolidate", "count", "fragments", "ilp", "random", "skew", "spread")
NO_QUEUES = "none"
COMMON_SETTINGS = {
    "placement": Policy.placement,
    "preemption_cost": "profile",
    **ENGINE_SETTINGS,
    "queues": NO_QUEUES,
    "pack_limit": str(DEFAULT_PACK_LIMIT),
    "profiles": "bundled",
    "rescale_cost": "preemption",
    "server_balance": "even",
    "slow_machines": NO_MACHINES,
    "model_error": "0",
}
"""Names and defaults; a policy may declare another default placement."""

_RECORDED_IF_CHANGED = (
    *ENGINE_SETTINGS,
    "queues",
    "rescale_cost",
    "server_balance",
    "slow_machines",
    "model_error",
)


_ERROR_STREAM = 1
"""Tells the stream of the model's errors apart from other draws by the run's seed."""


@dataclass(frozen=True)
class CommonSettings:
    """The values as text. `seed`: of the run, for random placement and for slow machines."""

    texts: Mapping[str, str]
    seed: int

    @classmethod
    def of(cls, settings: Mapping[str, str], policy: type[Policy], seed: int) -> CommonSettings:
        """From all settings of a run; those of the policy itself are left out."""
        defaults = {**COMMON_SETTINGS, "placement": policy.placement}
        given = {name: text for name, text in settings.items() if name in COMMON_SETTINGS}
        return cls({**defaults, **given}, seed)

    def check(self) -> None:
        """Raises BadInput or UnknownName for a value that no run can use."""
        smallest = ClusterSpec.uniform(1, 1)
        self.planner(smallest, ())
        self._skew_planner(smallest, ())
        self.speeds(smallest, (), (), self.profiles())
        division_named(self.texts["server_balance"])
        self.spells()
        self._model_error()
        _ = self.preemption_limits, self.queue_limits

    @property
    def placement(self) -> str:
        """The name of the placement."""
        return self.texts["placement"]

    @property
    def preemption_limits(self) -> PreemptionLimits:
        """What the engine obeys under any policy. Raises BadInput."""
        return preemption_limits(self.texts)

    @property
    def queue_limits(self) -> dict[str, QueueLimits]:
        """Of the queues in the file that `queues` names. Raises BadInput."""
        path = self.texts["queues"]
        return {} if path == NO_QUEUES else read_queue_file(Path(path))

    def recorded(self) -> dict[str, str]:
        """The values for the record of a run; some only if they differ from the default."""
        return {
            name: text
            for name, text in self.texts.items()
            if name not in _RECORDED_IF_CHANGED or text != COMMON_SETTINGS[name]
        }

    def planner(self, cluster: ClusterSpec, models: Sequence[ModelProfile]) -> Planner:
        """The planner that `placement` names."""
        match self.placement:
            case "count":
                return CountPlanner()
            case "consolidate":
                return _consolidating(cluster)
            case "fragments":
                return FragmentPlanner()
            case "ilp":
                return IlpPlanner(models)
            case "random":
                return RandomPlanner(np.random.default_rng(self.seed))
            case "skew":
                return self._skew_planner(cluster, models)
            case "spread":
                return SpreadPlanner()
            case unknown:
                raise UnknownName("placement", unknown, PLACEMENTS)

    def profiles(self) -> ProfileTable:
        """The model profiles that come with Motet, or those of a file."""
        path = self.texts["profiles"]
        return bundled_profiles() if path == "bundled" else open_profiles(Path(path))

    def speeds(
        self,
        cluster: ClusterSpec,
        models: Sequence[ModelProfile],
        names: Sequence[str],
        profiles: ProfileTable,
    ) -> SpeedModel:
        """How fast jobs are on machines, and what preemption and rescaling cost."""
        cost_us = self._cost_us("preemption_cost")
        rescale_us = self._rescale_cost_us(cost_us)
        counts_only = self.placement == "count"
        if counts_only and cost_us is not None and rescale_us is not None:
            return SameEverywhere(cost_us, rescale_us)
        measured = MeasuredSpeeds.of(profiles, names, cluster)
        kind = ProfiledRestarts if counts_only else ProfiledSpeeds
        return kind(cluster.gpus, models, cost_us, cluster.rack, measured, rescale_us)

    def imbalance(self, workload: Workload) -> Imbalance:
        """Of the parameter servers of each model, as `server_balance` divides its tensors."""
        return imbalance_of(workload, division_named(self.texts["server_balance"]))

    def spells(self) -> Spells:
        """When machines are slow."""
        return parse_spells(self.texts["slow_machines"])

    def paces(self, workload: Workload, cluster: ClusterSpec) -> MachinePaces:
        """How fast machines compute, from the first submission on."""
        from_us = int(workload.submit_us[0]) if len(workload) else 0
        return MachinePaces(pace_changes(self.spells(), cluster, from_us, self.seed))

    def subtask_errors(self, jobs: int) -> Floats | None:
        """`(jobs, 2)`: factors by which measured COMP and COMM times are off, each by the error up
        or down; None: they are true.
        """
        error = self._model_error()
        if not error:
            return None
        rng = np.random.default_rng([self.seed, _ERROR_STREAM])
        return 1 + error * rng.choice([-1.0, 1.0], (jobs, 2))

    def _model_error(self) -> float:
        text = self.texts["model_error"]
        try:
            error = float(text)
        except ValueError:
            error = -1.0
        if not 0 <= error < 1:
            raise BadInput(f"model_error={text}: give a part of a job's times, from 0 to below 1")
        return error

    def _skew_planner(self, cluster: ClusterSpec, models: Sequence[ModelProfile]) -> Planner:
        together = _consolidating(cluster)
        if self.texts["pack_limit"] == "auto":
            return LearnedSkewPlanner(models, cluster, together, DEFAULT_PACK_LIMIT)
        return SkewPlanner(models, self._pack_limit(), together)

    def _pack_limit(self) -> float:
        text = self.texts["pack_limit"]
        try:
            limit = float(text)
        except ValueError:
            limit = -1.0
        if not 0 <= limit <= 1:
            raise BadInput(f"pack_limit={text}: give a skew, 0 to 1, or auto")
        return limit

    def _rescale_cost_us(self, preemption_us: int | None) -> int | None:
        text = self.texts["rescale_cost"]
        return preemption_us if text == "preemption" else self._cost_us("rescale_cost")

    def _cost_us(self, name: str) -> int | None:
        """None: the cost that the profile of each model states."""
        text = self.texts[name]
        if text == "profile":
            return None
        try:
            cost_us = microseconds(text)
        except BadInput:
            cost_us = -1
        if cost_us < 0:
            words = "profile, preemption" if name == "rescale_cost" else "profile"
            raise BadInput(f"{name}={text}: give {words} or seconds from 0 to {LONGEST_S}")
        return cost_us


def _consolidating(cluster: ClusterSpec) -> Planner:
    """Prefers one rack on a cluster with several."""
    has_racks = len(np.unique(cluster.rack)) > 1
    return RackPlanner(cluster.rack) if has_racks else ConsolidatingPlanner()
