"""Policies and their parameters from `--policy`, `--set [P.]name=value` and `--sweep`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from motet.domain.errors import BadInput, UnknownName
from motet.engine.policy_loading.catalogue import (
    ALL_POLICIES,
    built_in_policies,
    find_policy,
    parameters_of,
)
from motet.sim.common_settings import COMMON_SETTINGS
from motet.sim.experiment import Experiment


@dataclass(frozen=True)
class RequestedPolicy:
    """`asked`: a name or `./file.py`; `name`: of the policy; `parameters`: names it accepts."""

    asked: str
    name: str
    parameters: frozenset[str]

    @classmethod
    def of(cls, asked: str) -> RequestedPolicy:
        """Look the policy up. Raises UnknownName, or BadInput for a file with several policies."""
        name, policy = find_policy(asked)
        own = {field.name for field in parameters_of(policy)}
        return cls(asked, name, frozenset(own | set(COMMON_SETTINGS)))


@dataclass(frozen=True)
class RequestedSweep:
    """`--sweep [P.]NAME=V1:V2`. `policy`: the swept policy; None: all with the parameter."""

    text: str
    policy: str | None
    name: str
    values: tuple[str, ...]

    @classmethod
    def of(
        cls, sweeps: Sequence[str], policies: Sequence[RequestedPolicy]
    ) -> RequestedSweep | None:
        """Parse `--sweep`; None without one. Raises BadInput, UnknownName."""
        if not sweeps:
            return None
        if len(sweeps) > 1:
            raise BadInput(
                f"--sweep is given {len(sweeps)} times; sweep one parameter at a time, and compare "
                "the folders with 'motet compare'"
            )
        target, name, text = _split("--sweep", sweeps[0], policies)
        values = tuple(value.strip() for value in text.split(":"))
        if len(values) < 2:
            raise BadInput(
                f"--sweep {sweeps[0]}: give at least two values with colons between them, for "
                f"example {name}=1:2:4, or use --set"
            )
        if len(set(values)) < len(values):
            raise BadInput(f"--sweep {sweeps[0]}: a value is given twice; give each once")
        swept = [policy for policy in policies if target in (None, policy.name)]
        _require_known([name], swept)
        return cls(sweeps[0], target, name, values)

    def variants(self, usual: Experiment) -> list[Experiment]:
        """One experiment per value. Raises BadInput, UnknownName."""
        if self.name in usual.settings:
            raise BadInput(f"--sweep {self.text}: {self.name} is set as well; leave one of the two")
        found = [
            replace(usual, settings={**usual.settings, self.name: value}, swept=self.name)
            for value in self.values
        ]
        for variant in found:
            self._check(variant, usual)
        return found

    def _check(self, variant: Experiment, usual: Experiment) -> None:
        """Check a variant; errors name the sweep, unless they also occur without it."""
        try:
            variant.check()
        except BadInput as error:
            if _error_of(usual) == str(error):
                raise
            raise BadInput(f"--sweep {self.text}: {error}") from error

    def concerns(self, policy: RequestedPolicy) -> bool:
        """Whether the policy is swept."""
        return self.policy in (None, policy.name) and self.name in policy.parameters


def experiments(
    policies: str, settings: Sequence[str], seeds: Sequence[int], sweeps: Sequence[str] = ()
) -> list[Experiment]:
    """Experiments for all policies, values of the sweep and seeds; seeds vary fastest.

    Raises BadInput, UnknownName.
    """
    asked = _requested_policies(policies)
    chosen = _settings_by_policy(asked, settings)
    sweep = RequestedSweep.of(sweeps, asked)
    found: list[Experiment] = []
    for policy in asked:
        usual = Experiment(policy.asked, chosen[policy.name])
        if sweep is not None and sweep.concerns(policy):
            variants = sweep.variants(usual)
        else:
            usual.check()
            variants = [usual]
        found += [replace(variant, seed=seed) for variant in variants for seed in seeds]
    return found


def _error_of(experiment: Experiment) -> str | None:
    try:
        experiment.check()
    except BadInput as error:
        return str(error)
    return None


def _requested_policies(text: str) -> list[RequestedPolicy]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    names_of = {ALL_POLICIES: built_in_policies()}
    asked = [RequestedPolicy.of(name) for part in parts for name in names_of.get(part, (part,))]
    names = [policy.name for policy in asked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"--policy {text}: {twice} is named twice; name each policy once")
    if not asked:
        raise BadInput("--policy names no policy; 'motet policy list' shows them")
    return asked


def _settings_by_policy(
    policies: Sequence[RequestedPolicy], settings: Sequence[str]
) -> Mapping[str, dict[str, str]]:
    """Settings of each policy; one with a policy's name overrides the same one without."""
    for_all: dict[str, str] = {}
    for_one: dict[str, dict[str, str]] = {policy.name: {} for policy in policies}
    for setting in settings:
        target, name, value = _split("--set", setting, policies)
        chosen = for_all if target is None else for_one[target]
        if name in chosen:
            raise BadInput(f"--set {setting}: {name} is given twice; give it once")
        chosen[name] = value
    _require_known(for_all, policies)
    return {
        policy.name: {k: v for k, v in for_all.items() if k in policy.parameters}
        | for_one[policy.name]
        for policy in policies
    }


def _split(
    flag: str, setting: str, policies: Sequence[RequestedPolicy]
) -> tuple[str | None, str, str]:
    """`fifo.placement=count` -> ("fifo", "placement", "count"); the first is None without one."""
    key, equals, value = setting.partition("=")
    target, _, name = key.strip().rpartition(".")
    if not equals or not name:
        value = "V1:V2:V3" if flag == "--sweep" else "VALUE"
        raise BadInput(f"{flag} {setting}: write NAME={value} or POLICY.NAME={value}")
    if not target:
        return None, name, value
    names = {policy.asked: policy.name for policy in policies}
    names |= {policy.name: policy.name for policy in policies}
    if target not in names:
        raise UnknownName("policy of this run", target, names)
    return names[target], name, value


def _require_known(settings: Iterable[str], policies: Sequence[RequestedPolicy]) -> None:
    """Raises UnknownName for a parameter that none of the policies accepts."""
    known = set[str]().union(*(policy.parameters for policy in policies))
    unknown = next((name for name in settings if name not in known), None)
    if unknown is not None:
        whose = policies[0].name if len(policies) == 1 else "these policies"
        raise UnknownName(f"parameter of {whose}", unknown, known)
