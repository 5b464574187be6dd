"""A simulation described by names and text, as on the command line: policy, settings and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput, UnknownName
from motet.domain.model_profile import ModelProfile
from motet.domain.policy import JobInput, Policy
from motet.domain.snapshot import Queues
from motet.engine.measurements.job_measurements import Measurements
from motet.engine.policy_loading.catalogue import (
    find_policy,
    has_seed,
    make_policy,
    parameters_of,
)
from motet.engine.ports import Journal
from motet.placement.planner import Planner
from motet.sim.common_settings import COMMON_SETTINGS, CommonSettings
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.simulation import ProgressCallback, Simulation
from motet.sim.replay.slow_machines import DrawnSpells
from motet.sim.workload.checks import check_queues, check_sizes
from motet.sim.workload.interventions import TimedEvent
from motet.sim.workload.job_reports import JobReports
from motet.sim.workload.workload import Workload

_ILP_IS_SLOW = (
    "placement=ilp solves an integer program for every start: minutes for a hundred jobs; it "
    "serves as a reference for other placements"
)
_SHORT_TURN_S = 60.0
"""About what a restart takes."""


@dataclass(frozen=True)
class Experiment:
    """`policy`: a name or `./file.py`; `settings`: its parameters and the common ones, as text.

    `seed`: for random placement, for slow machines, and for a policy that has a whole number `seed`
    which the settings do not set. `swept`: the setting that a sweep changes from run to run.
    `given`: a policy's class, or an object that keeps all its parameters (its seed, too), instead
    of the one that `policy` names. `queues`: those of the workload with limits that are in force
    already, instead of those of the settings. `label`: of the run in tables; None: `policy`.
    `planner`: places jobs, instead of that of `placement`. `models`: profiles of the workload's
    models, instead of those of the settings. `later`: policies that a timeline puts in force, so
    that what they need to know is measured from the start.
    """

    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    swept: str | None = None
    given: type[Policy] | Policy | None = None
    label: str | None = None
    queues: Queues | None = None
    planner: Planner | None = None
    models: Sequence[ModelProfile] = ()
    later: Sequence[Policy] = ()

    @property
    def name(self) -> str:
        """The name of the run's policy in tables and files."""
        if self.label is not None:
            return self.label
        return self.policy if self.given is not None else self._policy_class()[0]

    @property
    def policy_class(self) -> type[Policy]:
        """The class of the policy. Raises BadInput, UnknownName."""
        return self._policy_class()[1]

    def check(self) -> None:
        """Raises BadInput or UnknownName for a policy or a setting that no run can use."""
        self._policy()
        self._common().check()

    def run(
        self,
        workload: Workload,
        cluster: ClusterSpec,
        report: ProgressCallback = lambda *_: None,
        journal: Journal | None = None,
        timeline: Sequence[TimedEvent] = (),
    ) -> Outcome:
        """Simulate. `timeline`: events of machines. Raises BadInput for a job that fits on no
        machine of the cluster."""
        return self.simulation(workload, cluster, journal, timeline).run(report)

    def simulation(
        self,
        workload: Workload,
        cluster: ClusterSpec,
        journal: Journal | None = None,
        timeline: Sequence[TimedEvent] = (),
        reports: JobReports | None = None,
    ) -> Simulation:
        """The simulation before its first event. `reports`: what jobs reported once. Raises as
        `run` does."""
        check_sizes(workload, cluster)
        common, names = self._common(), workload.model_names
        profiles = common.profiles()
        models = tuple(self.models) or tuple(profiles.profile(name) for name in names)
        queues = self.queues or self._queues_of_file(common, workload, cluster)
        policy = self._policy()
        return Simulation(
            workload,
            cluster,
            policy,
            self.planner or common.planner(cluster, models),
            common.speeds(cluster, models, names, profiles),
            queues=queues,
            journal=journal,
            measurements=_measurements([policy, *self.later]),
            models=models,
            imbalance=common.imbalance(workload),
            paces=common.paces(workload, cluster),
            timeline=timeline,
            limits=common.preemption_limits,
            subtask_errors=common.subtask_errors(len(workload)),
            reports=reports,
            later=self.later,
        )

    def _queues_of_file(
        self, common: CommonSettings, workload: Workload, cluster: ClusterSpec
    ) -> Queues:
        queues = Queues.with_limits(workload.queue_names, common.queue_limits)
        check_queues(workload, cluster, queues)
        return queues

    @property
    def draws_lots(self) -> bool:
        """Whether the result depends on the seed."""
        common = self._common()
        is_random = common.placement == "random"
        is_random = is_random or common.subtask_errors(1) is not None
        return is_random or self._seeds_policy or isinstance(common.spells(), DrawnSpells)

    def notices(self, workload: Workload, cluster: ClusterSpec) -> tuple[str, ...]:
        """Warnings to print before the run starts: a slow placement, assumed speeds."""
        common = self._common()
        found = [_ILP_IS_SLOW] if common.placement == "ilp" else []
        known = {kind for _, kind in common.profiles().alone}
        types = {name for name in cluster.type_names if name.lower() not in {*known, "gpu"}}
        if types and common.placement != "count":
            found.append(
                f"no speeds are known for GPUs of type {', '.join(sorted(types))}: taken to be as "
                f"fast as the fastest (known: {', '.join(sorted(known))}; more with --profiles)"
            )
        if idle := common.queue_limits.keys() - {*workload.queue_names}:
            found.append(
                f"queues: no job is in {', '.join(sorted(idle))}; the queues of the jobs are "
                f"{', '.join(workload.queue_names)}"
            )
        if self._has_nothing_to_divide(workload):
            found.append(
                f"{self._policy_class()[0]}: all jobs are rigid, so there are no shares to divide: "
                "the oldest jobs that fit run. For equal shares of time: --policy gandiva --set "
                "packing=false --set migration=false --set quantum_s=600"
            )
        if turns := self._short_turns(workload):
            found.append(turns)
        if common.spells() and self._leaves_choice_to_planner(workload, cluster):
            found.append(
                f"slow_machines: {self._policy_class()[0]} does not leave them here: jobs ask for "
                f"CPUs or memory, so that placement={common.placement} chooses their machines"
            )
        return tuple(found)

    def parameters(self) -> dict[str, Any]:
        """All parameters of the run besides its data and seed, for its record."""
        policy = self._policy()
        own = {f.name: getattr(policy, f.name) for f in parameters_of(type(policy))}
        if self._seeds_policy:
            del own["seed"]
        return {**own, **self._common().recorded()}

    def _has_nothing_to_divide(self, workload: Workload) -> bool:
        """Whether a policy of equal shares finds only rigid jobs (of one queue)."""
        shares = self._policy_class()[1].equal_shares_of
        if workload.work is not None and workload.work.is_modelled.any():
            return False
        return shares == "jobs" or (shares == "queues" and len(workload.queue_names) < 2)

    def _short_turns(self, workload: Workload) -> str:
        """The warning about a policy that compares losses, and finds none; empty: no such one.

        Waiting jobs then take turns, each with a restart, at every decision.
        """
        policy, has_losses = self._policy(), workload.work is not None
        period_s = getattr(policy, "epoch_s", None)
        if has_losses or JobInput.LOSS not in policy.needed_inputs or period_s is None:
            return ""
        if period_s >= _SHORT_TURN_S:
            return ""
        name = self._policy_class()[0]
        return (
            f"{name}: no loss curves in the log, so waiting jobs take turns of "
            f"epoch_s={period_s:g} s: this takes long to simulate, and restarts may take most of "
            f"the time on GPUs; longer turns: --set {name}.epoch_s=600"
        )

    def _leaves_choice_to_planner(self, workload: Workload, cluster: ClusterSpec) -> bool:
        """Whether a policy that chooses machines by their speed cannot do so for this workload."""
        by_speed = self._policy_class()[1].wants_machine_speeds
        has_cpus = workload.cpus.any() and cluster.cpus.any()
        has_memory = workload.memory_bytes.any() and cluster.memory_bytes.any()
        return by_speed and bool(has_cpus or has_memory)

    def _common(self) -> CommonSettings:
        return CommonSettings.of(self.settings, self._policy_class()[1], self.seed)

    def _policy(self) -> Policy:
        own = {k: v for k, v in self.settings.items() if k not in COMMON_SETTINGS}
        if isinstance(self.given, Policy):
            return _unchanged(self.policy, self.given, own)
        name, policy = self._policy_class()
        known = {field.name for field in parameters_of(policy)} | set(COMMON_SETTINGS)
        for key in own.keys() - known:
            raise UnknownName(f"parameter of {name}", key, known)
        if self._seeds_policy:
            own["seed"] = str(self.seed)
        return make_policy(name, policy, self._without_conflict(own, known))

    @property
    def _seeds_policy(self) -> bool:
        """Whether the policy draws random numbers from the run's seed, not from one in the
        settings."""
        is_object = isinstance(self.given, Policy)
        return not is_object and "seed" not in self.settings and has_seed(self._policy_class()[1])

    def _without_conflict(self, own: Mapping[str, str], known: set[str]) -> Mapping[str, str]:
        """Turn off the policy's own consolidation under another placement."""
        if "consolidate" not in known or self._common().placement == "consolidate":
            return own
        return {"consolidate": "false", **own}

    def _policy_class(self) -> tuple[str, type[Policy]]:
        if self.given is not None:
            given = self.given
            return self.policy, given if isinstance(given, type) else type(given)
        return find_policy(self.policy)


def _unchanged(label: str, policy: Policy, settings: Mapping[str, str]) -> Policy:
    """The policy itself. Raises BadInput for settings that would change a parameter of it."""
    if settings:
        raise BadInput(
            f"{label}: {', '.join(sorted(settings))} cannot be set for a policy object; give the "
            "parameters to its constructor"
        )
    return policy


def _measurements(policies: Sequence[Policy]) -> Measurements | None:
    """Measurements with fitters if one of the policies declares `wants_estimates`, else None."""
    if not any(policy.wants_estimates for policy in policies):
        return None
    from motet.engine.measurements.fitters import fitted_measurements

    return fitted_measurements()
