"""One run described by names and text, as people give it: policy, settings, cluster, workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from motet.domain.cluster import Cluster
from motet.domain.errors import BadInput, UnknownName
from motet.domain.policy import Policy
from motet.domain.units import microseconds
from motet.engine.catalogue import find_policies, make_policy
from motet.placement.count import CountPlanner
from motet.placement.planner import Planner
from motet.sim.outcome import Outcome
from motet.sim.simulation import SameEverywhere, Simulation, SpeedModel
from motet.sim.workload import Workload

PLACEMENTS = ("count",)
COMMON_SETTINGS = {"placement": "count", "preemption_cost": "0"}
"""Settings that every policy takes, with their defaults."""


@dataclass(frozen=True)
class Experiment:
    """`policy`: a name or `./file.py`; `settings`: its parameters and the common ones, as text.

    `seed`: for placements that draw lots.
    """

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0

    def check(self) -> None:
        """Raises BadInput or UnknownName for what cannot be run."""
        self._policy()
        self._planner()
        self._speeds()

    def run(self, workload: Workload, cluster: Cluster) -> Outcome:
        """Simulate. Raises BadInput for a job that no machine can ever hold."""
        _check_sizes(workload, cluster)
        simulation = Simulation(workload, cluster, self._policy(), self._planner(), self._speeds())
        return simulation.run()

    def parameters(self) -> dict[str, Any]:
        """Everything that the run depends on beside its data, for the record."""
        policy = self._policy()
        own = {name: getattr(policy, name) for name in policy.__dataclass_fields__}  # type: ignore[attr-defined]
        return {**own, **self._common()}

    def _common(self) -> dict[str, str]:
        return {name: self.settings.get(name, default) for name, default in COMMON_SETTINGS.items()}

    def _policy(self) -> Policy:
        own = {k: v for k, v in self.settings.items() if k not in COMMON_SETTINGS}
        ((name, policy),) = _one(self.policy, find_policies(self.policy)).items()
        return make_policy(name, policy, own)

    def _planner(self) -> Planner:
        name = self._common()["placement"]
        if name not in PLACEMENTS:
            raise UnknownName("placement", name, PLACEMENTS)
        return CountPlanner()

    def _speeds(self) -> SpeedModel:
        text = self._common()["preemption_cost"]
        cost_us = microseconds(text)
        if cost_us < 0:
            raise BadInput(f"preemption_cost={text}: give seconds, not below 0")
        return SameEverywhere(cost_us)


def _one(asked: str, found: Mapping[str, type[Policy]]) -> Mapping[str, type[Policy]]:
    if len(found) != 1:
        raise BadInput(
            f"{asked} holds {len(found)} policies ({', '.join(found)}); keep one per file"
        )
    return found


def _check_sizes(workload: Workload, cluster: Cluster) -> None:
    too_large = workload.gpus > cluster.gpu_count
    if too_large.any():
        number = int(too_large.argmax())
        raise BadInput(
            f"job {workload.ids[number]} needs {workload.gpus[number]} GPUs, the cluster has "
            f"{cluster.gpu_count}; give a larger --cluster or skip such jobs (--skip-bad-rows)"
        )
