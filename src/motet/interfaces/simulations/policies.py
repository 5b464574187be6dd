"""The argument `policy` of `motet.simulate`: names, files, classes, objects, or several of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from motet.domain.errors import BadInput, UnknownName
from motet.domain.policy import Policy
from motet.engine.policy_loading.catalogue import (
    ALL_POLICIES,
    built_in_policies,
    find_policy,
    make_policy,
    parameters_of,
)
from motet.engine.policy_loading.setting_texts import setting_text
from motet.interfaces.python_messages import python_arguments
from motet.sim.common_settings import COMMON_SETTINGS
from motet.sim.experiment import Experiment

_OF_TRACES = (
    *("columns", "timezone", "encoding", "time_format", "skip_bad_rows", "largest_gang", "format"),
)
_OF_SIMULATE = {"trace", "cluster", "policy", "seed", "machine_events", "processes"}
OnePolicy: TypeAlias = str | os.PathLike[str] | type[Policy] | Policy
PolicyArgument: TypeAlias = OnePolicy | Sequence[OnePolicy] | Mapping[str, OnePolicy]
_ACCEPTED = (
    "a name ('fifo'), 'all', a file ('./mine.py'), a Policy class or object, a list of these, or a "
    "dictionary of labels and these"
)


@python_arguments
def load_policy(policy: str | os.PathLike[str], **parameters: Any) -> Policy:
    """A policy with parameters of its own, for `simulate(policy=[...])`.

    `policy`: a name from `motet policy list`, or a file `./mine.py` with one policy. `parameters`:
    as `motet policy describe NAME` lists them. Raises BadInput, UnknownName.

    >>> motet.load_policy("tiresias-las", thresholds=(3200, 7200))
    TiresiasLas(thresholds=(3200.0, 7200.0), ...)
    """
    if not isinstance(policy, str | os.PathLike):
        raise BadInput(f"policy={policy!r:.60}: give a name ('fifo') or a file ('./mine.py')")
    name, found = find_policy(os.fspath(policy))
    return make_policy(name, found, {key: setting_text(it) for key, it in parameters.items()})


def policy_experiments(
    policy: PolicyArgument, seeds: Sequence[int], settings: Mapping[str, Any]
) -> list[Experiment]:
    """An experiment for every policy and seed; seeds vary fastest.

    `settings`: Python values for all policies that have the parameter. Raises BadInput,
    UnknownName.
    """
    texts = {name: setting_text(value) for name, value in settings.items()}
    usual = [_experiment(label, one) for label, one in _listed(policy)]
    labels = [each.name for each in usual]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise BadInput(
            f"policy: {twice} is given twice; give a dictionary, for example "
            f"{{'first': ..., 'second': ...}}"
        )
    known = {each.name: _settable(each) for each in usual}
    _require_known(texts, known)
    found = []
    for each in usual:
        own = {name: text for name, text in texts.items() if name in known[each.name]}
        for seed in seeds:
            made = Experiment(each.policy, own, seed, None, each.given, each.label)
            made.check()
            found.append(made)
    return found


def _listed(policy: object) -> list[tuple[str | None, Any]]:
    """Every policy with its label; None: its own name."""
    if isinstance(policy, str) and policy == ALL_POLICIES:
        found: list[tuple[str | None, Any]] = [(None, name) for name in built_in_policies()]
    elif isinstance(policy, Mapping):
        wrong = next((label for label in policy if not isinstance(label, str) or not label), None)
        if wrong is not None:
            raise BadInput(f"policy: the label {wrong!r:.40} of a policy is no text")
        found = list(policy.items())
    elif _is_one(policy) or not isinstance(policy, Iterable):
        found = [(None, policy)]
    else:
        found = [(None, each) for each in policy]
    if not found:
        raise BadInput(f"policy={policy!r}: no policy; give {_ACCEPTED}")
    return found


def _is_one(policy: object) -> bool:
    return isinstance(policy, str | os.PathLike | Policy | type)


def _experiment(label: str | None, policy: Any) -> Experiment:
    """An experiment without settings. Raises BadInput, UnknownName."""
    if isinstance(policy, str | os.PathLike):
        asked = os.fspath(policy)
        if "," in asked and asked.split(",")[0].strip() in built_in_policies():
            raise BadInput(f"policy={asked!r}: give several policies as a list, ['fifo', 'srtf']")
        return Experiment(asked, label=label or find_policy(asked)[0])
    kind: type = policy if isinstance(policy, type) else type(policy)
    if not issubclass(kind, Policy):
        raise BadInput(f"policy={policy!r:.60}: give {_ACCEPTED}")
    if inspect.isabstract(kind) or not hasattr(kind, "__dataclass_fields__"):
        raise BadInput(
            f"policy={kind.__name__}: not a policy to run; write @dataclass(frozen=True) above the "
            "class, and decide(self, snapshot) in it"
        )
    names = {each: name for name, each in built_in_policies().items()}
    return Experiment(names.get(kind, kind.__name__), given=policy, label=label)


def _settable(experiment: Experiment) -> set[str]:
    """Names of settings that the experiment accepts; of an object only those of all policies."""
    if isinstance(experiment.given, Policy):
        return set(COMMON_SETTINGS)
    found = experiment.given or find_policy(experiment.policy)[1]
    return {field.name for field in parameters_of(found)} | set(COMMON_SETTINGS)


def _require_known(settings: Mapping[str, str], known: Mapping[str, set[str]]) -> None:
    everywhere = set[str]().union(*known.values())
    unknown = next((name for name in settings if name not in everywhere), None)
    if unknown in _OF_TRACES:
        of_frames = ", or rename those of a DataFrame" if unknown == "columns" else ""
        raise BadInput(
            f"{unknown}: an option of the trace; give trace=motet.load_trace(path, {unknown}=...)"
            f"{of_frames}"
        )
    if unknown is not None:
        whose = next(iter(known)) if len(known) == 1 else "these policies"
        raise UnknownName(f"parameter of {whose}", unknown, everywhere | _OF_SIMULATE)
