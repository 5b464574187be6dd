"""`--policy P[,P...]` and `--set [P.]name=value`: which policy gets which parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from motet.domain.errors import BadInput, UnknownName
from motet.engine.catalogue import find_policies, parameters_of
from motet.sim.experiment import COMMON_SETTINGS, Experiment


@dataclass(frozen=True)
class AskedPolicy:
    """`asked`: a name or `./file.py`; `name`: what it is called; `parameters`: what it takes."""

    asked: str
    name: str
    parameters: frozenset[str]

    @classmethod
    def of(cls, asked: str) -> AskedPolicy:
        """Raises UnknownName, or BadInput for a file without exactly one policy."""
        found = find_policies(asked)
        if len(found) != 1:
            raise BadInput(
                f"{asked}: {len(found)} policies in it ({', '.join(found)}); keep one per file"
            )
        ((name, policy),) = found.items()
        own = {field.name for field in parameters_of(policy)}
        return cls(asked, name, frozenset(own | set(COMMON_SETTINGS)))


def experiments(policies: str, settings: Sequence[str], seeds: Sequence[int]) -> list[Experiment]:
    """Every policy with every seed, policies first. Raises BadInput, UnknownName."""
    asked = _asked_policies(policies)
    chosen = _settings_by_policy(asked, settings)
    found = [
        Experiment(policy.asked, chosen[policy.name], seed) for policy in asked for seed in seeds
    ]
    for experiment in found:
        experiment.check()
    return found


def _asked_policies(text: str) -> list[AskedPolicy]:
    asked = [AskedPolicy.of(part.strip()) for part in text.split(",") if part.strip()]
    names = [policy.name for policy in asked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"--policy {text}: {twice} is named twice; name each policy once")
    if not asked:
        raise BadInput("--policy names no policy; 'motet policy list' shows them")
    return asked


def _settings_by_policy(
    policies: Sequence[AskedPolicy], settings: Sequence[str]
) -> Mapping[str, dict[str, str]]:
    """A setting for one policy wins over the same one for all."""
    for_all: dict[str, str] = {}
    for_one: dict[str, dict[str, str]] = {policy.name: {} for policy in policies}
    for setting in settings:
        target, name, value = _split(setting, policies)
        chosen = for_all if target is None else for_one[target]
        if name in chosen:
            raise BadInput(f"--set {setting}: {name} is given twice; give it once")
        chosen[name] = value
    _check_somebody_takes(for_all, policies)
    return {
        policy.name: {k: v for k, v in for_all.items() if k in policy.parameters}
        | for_one[policy.name]
        for policy in policies
    }


def _split(setting: str, policies: Sequence[AskedPolicy]) -> tuple[str | None, str, str]:
    """`fifo.placement=count` -> ("fifo", "placement", "count"); the first is None for all."""
    key, equals, value = setting.partition("=")
    target, _, name = key.strip().rpartition(".")
    if not equals or not name:
        raise BadInput(f"--set {setting}: write NAME=VALUE or POLICY.NAME=VALUE")
    if not target:
        return None, name, value
    names = {policy.asked: policy.name for policy in policies}
    names |= {policy.name: policy.name for policy in policies}
    if target not in names:
        raise UnknownName("policy of this run", target, names)
    return names[target], name, value


def _check_somebody_takes(settings: Mapping[str, str], policies: Sequence[AskedPolicy]) -> None:
    known = set[str]().union(*(policy.parameters for policy in policies))
    unknown = next((name for name in settings if name not in known), None)
    if unknown is not None:
        whose = policies[0].name if len(policies) == 1 else "these policies"
        raise UnknownName(f"parameter of {whose}", unknown, known)
