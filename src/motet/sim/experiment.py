"""One run described by names and text, as people give it: policy, settings, cluster, workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, UnknownName
from motet.domain.model_profile import ModelProfile
from motet.domain.policy import Policy
from motet.domain.snapshot import Queues
from motet.domain.units import LONGEST_S, microseconds
from motet.engine.catalogue import find_policies, has_seed, make_policy, parameters_of
from motet.engine.measurements import Measurements
from motet.engine.ports import Journal
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
)
from motet.placement.racks import RackPlanner
from motet.sim.profiles import MeasuredSpeeds, ProfileTable, bundled_profiles, open_profiles
from motet.sim.replay.machine_speeds import MachinePaces
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import Progress, Simulation
from motet.sim.replay.slow_machines import (
    NO_MACHINES,
    DrawnSpells,
    Spells,
    pace_changes,
    parse_spells,
)
from motet.sim.speeds.profiled import ProfiledRestarts, ProfiledSpeeds
from motet.sim.speeds.server_balance import division_named, imbalance_of
from motet.sim.speeds.speed_model import SameEverywhere, SpeedModel
from motet.sim.workload.checks import check_sizes
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.workload import Workload

PLACEMENTS = ("consolidate", "count", "fragments", "ilp", "random", "skew")
COMMON_SETTINGS = {
    "placement": Policy.placement,
    "preemption_cost": "0",
    "pack_limit": str(DEFAULT_PACK_LIMIT),
    "profiles": "bundled",
    "rescale_cost": "preemption",
    "server_balance": "even",
    "slow_machines": NO_MACHINES,
}
"""Settings that every policy takes, with their defaults; a policy may prefer another placement."""

_SAID_IF_SET = ("rescale_cost", "server_balance", "slow_machines")
_ILP_IS_SLOW = (
    "placement=ilp solves an integer program for every start: minutes for a hundred jobs; it is "
    "there to judge other placements by"
)


@dataclass(frozen=True)
class Experiment:
    """`policy`: a name or `./file.py`; `settings`: its parameters and the common ones, as text.

    `seed`: for placements that draw lots, for slow machines, and for a policy that has a whole
    number `seed` and no setting for it. `swept`: the setting whose effect is being explored.
    """

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    swept: str | None = None

    def check(self) -> None:
        """Raises BadInput or UnknownName for what cannot be run."""
        self._policy()
        self._planner(ClusterSpec.uniform(1, 1), ())
        self._skew_planner(ClusterSpec.uniform(1, 1), ())
        self._speeds(ClusterSpec.uniform(1, 1), (), (), self._profiles())
        division_named(self._common()["server_balance"])
        self._spells()

    def run(
        self,
        workload: Workload,
        cluster: ClusterSpec,
        report: Progress = lambda *_: None,
        journal: Journal | None = None,
        timeline: Sequence[TimedEvent] = (),
    ) -> Outcome:
        """Simulate. `timeline`: what happens to machines. Raises BadInput for a job that no machine
        can ever hold."""
        return self.simulation(workload, cluster, journal, timeline).run(report)

    def simulation(
        self,
        workload: Workload,
        cluster: ClusterSpec,
        journal: Journal | None = None,
        timeline: Sequence[TimedEvent] = (),
    ) -> Simulation:
        """The run before it begins. Raises as `run` does."""
        check_sizes(workload, cluster)
        names, profiles = workload.model_names, self._profiles()
        models = tuple(profiles.profile(name) for name in names)
        planner = self._planner(cluster, models)
        speeds = self._speeds(cluster, models, names, profiles)
        policy, queues = self._policy(), Queues.without_quotas(workload.queue_names)
        return Simulation(
            workload,
            cluster,
            policy,
            planner,
            speeds,
            queues=queues,
            journal=journal,
            measurements=_measurements(policy),
            models=models,
            imbalance=imbalance_of(workload, division_named(self._common()["server_balance"])),
            paces=self._paces(workload, cluster),
            timeline=timeline,
        )

    @property
    def draws_lots(self) -> bool:
        """Whether the seed makes a difference."""
        is_random = self._common()["placement"] == "random"
        return is_random or self._seeds_policy or isinstance(self._spells(), DrawnSpells)

    def notices(self, workload: Workload, cluster: ClusterSpec) -> tuple[str, ...]:
        """What people should know of this run before they wait for it."""
        placement = self._common()["placement"]
        found = [_ILP_IS_SLOW] if placement == "ilp" else []
        known = {kind for _, kind in self._profiles().alone}
        types = {name for name in cluster.type_names if name.lower() not in {*known, "gpu"}}
        if types and placement != "count":
            found.append(
                f"no speeds are known for GPUs of type {', '.join(sorted(types))}: taken to be as "
                f"fast as the fastest (known: {', '.join(sorted(known))}; more with --profiles)"
            )
        if self._spells() and self._leaves_choice_to_planner(workload, cluster):
            found.append(
                f"slow_machines: {self._policy_class()[0]} does not leave them here: jobs ask for "
                f"CPUs or memory, so that placement={placement} chooses their machines"
            )
        return tuple(found)

    def _leaves_choice_to_planner(self, workload: Workload, cluster: ClusterSpec) -> bool:
        """Of a policy that would choose machines by how fast they are."""
        by_speed = self._policy_class()[1].wants_machine_speeds
        has_cpus = workload.cpus.any() and cluster.cpus.any()
        has_memory = workload.memory_bytes.any() and cluster.memory_bytes.any()
        return by_speed and bool(has_cpus or has_memory)

    def parameters(self) -> dict[str, Any]:
        """Everything that the run depends on beside its data and seed, for the record."""
        policy = self._policy()
        own = {f.name: getattr(policy, f.name) for f in parameters_of(type(policy))}
        if self._seeds_policy:
            del own["seed"]
        common = self._common()
        for name in _SAID_IF_SET:
            if common[name] == COMMON_SETTINGS[name]:
                del common[name]
        return {**own, **common}

    def _common(self) -> dict[str, str]:
        wanted = self._policy_class()[1].placement
        return {**COMMON_SETTINGS, "placement": wanted} | {
            name: text for name, text in self.settings.items() if name in COMMON_SETTINGS
        }

    def _policy(self) -> Policy:
        own = {k: v for k, v in self.settings.items() if k not in COMMON_SETTINGS}
        name, policy = self._policy_class()
        known = {field.name for field in parameters_of(policy)} | set(COMMON_SETTINGS)
        for key in own.keys() - known:
            raise UnknownName(f"parameter of {name}", key, known)
        if self._seeds_policy:
            own["seed"] = str(self.seed)
        return make_policy(name, policy, self._without_conflict(own, known))

    @property
    def _seeds_policy(self) -> bool:
        """Whether the policy draws lots by the seed of the run, not by one of its own."""
        return "seed" not in self.settings and has_seed(self._policy_class()[1])

    def _without_conflict(self, own: Mapping[str, str], known: set[str]) -> Mapping[str, str]:
        """A policy that consolidates by itself does not where another placement is wanted."""
        if "consolidate" not in known or self._common()["placement"] == "consolidate":
            return own
        return {"consolidate": "false", **own}

    def _policy_class(self) -> tuple[str, type[Policy]]:
        ((name, policy),) = _one(self.policy, find_policies(self.policy)).items()
        return name, policy

    def _planner(self, cluster: ClusterSpec, models: Sequence[ModelProfile]) -> Planner:
        match self._common()["placement"]:
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
            case unknown:
                raise UnknownName("placement", unknown, PLACEMENTS)

    def _skew_planner(self, cluster: ClusterSpec, models: Sequence[ModelProfile]) -> Planner:
        together = _consolidating(cluster)
        if self._common()["pack_limit"] == "auto":
            return LearnedSkewPlanner(models, cluster, together, DEFAULT_PACK_LIMIT)
        return SkewPlanner(models, self._pack_limit(), together)

    def _pack_limit(self) -> float:
        text = self._common()["pack_limit"]
        try:
            limit = float(text)
        except ValueError:
            limit = -1.0
        if not 0 <= limit <= 1:
            raise BadInput(f"pack_limit={text}: give a skew, 0 to 1, or auto")
        return limit

    def _profiles(self) -> ProfileTable:
        path = self._common()["profiles"]
        return bundled_profiles() if path == "bundled" else open_profiles(Path(path))

    def _speeds(
        self,
        cluster: ClusterSpec,
        models: Sequence[ModelProfile],
        names: Sequence[str],
        profiles: ProfileTable,
    ) -> SpeedModel:
        cost_us = self._cost_us("preemption_cost")
        rescale_us = self._rescale_cost_us(cost_us)
        counts_only = self._common()["placement"] == "count"
        if counts_only and cost_us is not None and rescale_us is not None:
            return SameEverywhere(cost_us, rescale_us)
        measured = MeasuredSpeeds.of(profiles, names, cluster)
        kind = ProfiledRestarts if counts_only else ProfiledSpeeds
        return kind(cluster.gpus, models, cost_us, cluster.rack, measured, rescale_us)

    def _spells(self) -> Spells:
        return parse_spells(self._common()["slow_machines"])

    def _paces(self, workload: Workload, cluster: ClusterSpec) -> MachinePaces:
        from_us = int(workload.submit_us[0]) if len(workload) else 0
        return MachinePaces(pace_changes(self._spells(), cluster, from_us, self.seed))

    def _rescale_cost_us(self, preemption_us: int | None) -> int | None:
        text = self._common()["rescale_cost"]
        return preemption_us if text == "preemption" else self._cost_us("rescale_cost")

    def _cost_us(self, name: str) -> int | None:
        """None: as the profiles say."""
        text = self._common()[name]
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


def _measurements(policy: Policy) -> Measurements | None:
    """With fitters, for a policy that wants estimates."""
    if not policy.wants_estimates:
        return None
    from motet.engine.fitters import fitted_measurements

    return fitted_measurements()


def _consolidating(cluster: ClusterSpec) -> Planner:
    """In one rack if there are several and that can be."""
    has_racks = len(np.unique(cluster.rack)) > 1
    return RackPlanner(cluster.rack) if has_racks else ConsolidatingPlanner()


def _one(asked: str, found: Mapping[str, type[Policy]]) -> Mapping[str, type[Policy]]:
    if len(found) != 1:
        raise BadInput(
            f"{asked} holds {len(found)} policies ({', '.join(found)}); keep one per file"
        )
    return found
