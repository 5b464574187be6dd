"""`--policy P[,P...]`, `--set [P.]name=value`, `--sweep`: which policy gets which parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class AskedSweep:
    """`--sweep [P.]NAME=V1:V2`; `policy`: the only one that is swept, None for all that can be."""

    text: str
    policy: str | None
    name: str
    values: tuple[str, ...]

    @classmethod
    def of(cls, sweeps: Sequence[str], policies: Sequence[AskedPolicy]) -> AskedSweep | None:
        """Raises BadInput, UnknownName."""
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
        _check_somebody_takes([name], swept)
        return cls(sweeps[0], target, name, values)

    def variants(self, usual: Experiment) -> list[Experiment]:
        """An experiment with every value. Raises BadInput, UnknownName."""
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
        """Says that it is the sweep's fault, unless the error is there without it, too."""
        try:
            variant.check()
        except BadInput as error:
            if _complaint(usual) == str(error):
                raise
            raise BadInput(f"--sweep {self.text}: {error}") from error

    def concerns(self, policy: AskedPolicy) -> bool:
        """Whether this policy is swept."""
        return self.policy in (None, policy.name) and self.name in policy.parameters


def experiments(
    policies: str, settings: Sequence[str], seeds: Sequence[int], sweeps: Sequence[str] = ()
) -> list[Experiment]:
    """Every policy with every value of the sweep and every seed, policies first.

    Raises BadInput, UnknownName.
    """
    asked = _asked_policies(policies)
    chosen = _settings_by_policy(asked, settings)
    sweep = AskedSweep.of(sweeps, asked)
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


def _complaint(experiment: Experiment) -> str | None:
    try:
        experiment.check()
    except BadInput as error:
        return str(error)
    return None


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
        target, name, value = _split("--set", setting, policies)
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


def _split(flag: str, setting: str, policies: Sequence[AskedPolicy]) -> tuple[str | None, str, str]:
    """`fifo.placement=count` -> ("fifo", "placement", "count"); the first is None for all."""
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


def _check_somebody_takes(settings: Iterable[str], policies: Sequence[AskedPolicy]) -> None:
    known = set[str]().union(*(policy.parameters for policy in policies))
    unknown = next((name for name in settings if name not in known), None)
    if unknown is not None:
        whose = policies[0].name if len(policies) == 1 else "these policies"
        raise UnknownName(f"parameter of {whose}", unknown, known)
