"""Policies by name or file, and their parameters from text.

Policies need no registration: every file in `motet/policies`, or a file of the user, contains a
dictionary `POLICIES = {"name": Class}` of frozen dataclasses whose fields are the parameters.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import motet.policies
from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.errors import BadInput, MotetError, UnknownName
from motet.domain.policy import Policy
from motet.engine.policy_loading.faults import fault
from motet.engine.policy_loading.policy_file import policies_in

ALL_POLICIES = "all"
"""In the place of the names of all built-in policies."""
_CLASSES = 64


@cache
def built_in_policies() -> Mapping[str, type[Policy]]:
    """All policies that come with Motet, by name."""
    found: dict[str, type[Policy]] = {}
    for module in pkgutil.iter_modules(motet.policies.__path__):
        found |= import_module(f"motet.policies.{module.name}").POLICIES
    return dict(sorted(found.items()))


def find_policies(name: str) -> Mapping[str, type[Policy]]:
    """The policy of that name, or all policies of a file `./mine.py`.

    Raises UnknownName, or BadInput for a file without policies.
    """
    if name.endswith(".py"):
        return policies_in(Path(name))
    known = built_in_policies()
    if name not in known:
        raise UnknownName("policy", name, known)
    return {name: known[name]}


def find_policy(name: str) -> tuple[str, type[Policy]]:
    """The name and class of one policy, which is named or the only one of a file `./mine.py`.

    Raises UnknownName, or BadInput for a file without policies or with several.
    """
    found = find_policies(name)
    if len(found) != 1:
        raise BadInput(
            f"{name} holds {len(found)} policies ({', '.join(found)}); keep one per file"
        )
    return next(iter(found.items()))


def make_policy(name: str, policy: type[Policy], settings: Mapping[str, str]) -> Policy:
    """A policy with parameters given as text. Raises UnknownName, BadInput."""
    hints = _types_of(policy)
    parameters = {field.name: hints[field.name] for field in parameters_of(policy)}
    for key in settings:
        if key not in parameters:
            raise UnknownName(f"parameter of {name}", key, parameters)
    unset = [f.name for f in parameters_of(policy) if _is_required(f) and f.name not in settings]
    if unset:
        raise BadInput(f"{name} has no default for {unset[0]}; give --set {unset[0]}=VALUE")
    with _errors_of(name, policy):
        return policy(**{key: _parsed(key, it, parameters[key]) for key, it in settings.items()})


@contextmanager
def _errors_of(name: str, policy: type[Policy]) -> Iterator[None]:
    """Add the policy's name to errors: several policies may have a parameter of that name."""
    try:
        yield
    except UnknownName as error:
        raise UnknownName(f"{error.kind} of {name}", error.name, error.known) from None
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from error
    except MotetError:
        raise
    except Exception as error:
        raise fault(error, policy) or error from error


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def parameters_of(policy: type[Policy]) -> tuple[Field[Any], ...]:
    """The parameters of a policy, in the order of their definition."""
    return fields(policy)  # type: ignore[arg-type]


def has_seed(policy: type[Policy]) -> bool:
    """Whether the policy draws random numbers: it has an integer parameter `seed`."""
    names = {field.name for field in parameters_of(policy)}
    return "seed" in names and _types_of(policy)["seed"] is int


@lru_cache(_CLASSES)
def _types_of(policy: type[Policy]) -> dict[str, Any]:
    """Kept: annotations are source text, and a server asks for them at every explanation."""
    return get_type_hints(policy)


_DESCRIBED = {int: "a whole number", float: "a number", bool: "true or false"}


def _parsed(key: str, text: str, wanted: Any) -> Any:
    """`text` as a value of the field's type: a number, a word, or a list of numbers."""
    try:
        if get_origin(wanted) is Literal:
            return _choice(key, text, get_args(wanted))
        if get_origin(wanted) is tuple:
            kind = get_args(wanted)[0]
            return tuple(kind(part) for part in _listed(key, text))
        if wanted is bool:
            return {"true": True, "false": False}[text.lower()]
        return wanted(text)
    except (ValueError, KeyError):
        raise BadInput(f"{key}={text}: give {_DESCRIBED.get(wanted, 'numbers')}") from None


def _listed(key: str, text: str) -> list[str]:
    """`3200,7200`, or the numbers in the file `@path`, one per line."""
    if not text.startswith("@"):
        return [part for part in text.replace(";", ",").split(",") if part]
    try:
        lines = regular_file(Path(text[1:])).read_text(encoding="utf-8").split()
    except OSError as error:
        raise BadInput(f"{key}={text}: the file cannot be read ({error.strerror})") from error
    return [line for line in lines if line[0].isdigit()]


def _choice(key: str, text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise UnknownName(f"value of {key}", text, choices)
    return text
