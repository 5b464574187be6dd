"""Policies by name or file, and their parameters from text.

A policy is found by being there: a file in `motet/policies` or a user's own, with a dictionary
`POLICIES = {"name": Class}` of frozen dataclasses whose fields are the parameters.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints
from zlib import crc32

import motet.policies
from motet.domain.errors import BadInput, MotetError, UnknownName
from motet.domain.policy import Policy
from motet.engine.faults import fault, fault_in, place_of_decide

LONGEST_NAME = 60
_NAME = re.compile(rf"[A-Za-z0-9][\w+-]{{0,{LONGEST_NAME - 1}}}", re.ASCII)


@cache
def built_in_policies() -> Mapping[str, type[Policy]]:
    """All policies that come with Motet, by name."""
    found: dict[str, type[Policy]] = {}
    for module in pkgutil.iter_modules(motet.policies.__path__):
        found |= import_module(f"motet.policies.{module.name}").POLICIES
    return dict(sorted(found.items()))


def find_policies(name: str) -> Mapping[str, type[Policy]]:
    """The policy of that name, or all that a file `./mine.py` defines.

    Raises UnknownName, or BadInput for a file that holds none.
    """
    if name.endswith(".py"):
        return _policies_in(Path(name))
    known = built_in_policies()
    if name not in known:
        raise UnknownName("policy", name, known)
    return {name: known[name]}


def make_policy(name: str, policy: type[Policy], settings: Mapping[str, str]) -> Policy:
    """A policy with parameters given as text. Raises UnknownName, BadInput."""
    hints = get_type_hints(policy)
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
    """Say whose parameter is wrong: others may have one of that name, too."""
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
    """The fields of a policy, in their order."""
    return fields(policy)  # type: ignore[arg-type]


def has_seed(policy: type[Policy]) -> bool:
    """Whether it draws lots: a whole number `seed` is a parameter of it."""
    names = {field.name for field in parameters_of(policy)}
    return "seed" in names and get_type_hints(policy)["seed"] is int


_DESCRIBED = {int: "a whole number", float: "a number", bool: "true or false"}


def _parsed(key: str, text: str, wanted: Any) -> Any:
    """`text` as the type that the field has: a number, one of some words, or a list of numbers."""
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
    """`3200,7200`, or the numbers in the file `@path`, one a line."""
    if not text.startswith("@"):
        return [part for part in text.replace(";", ",").split(",") if part]
    try:
        lines = Path(text[1:]).read_text(encoding="utf-8").split()
    except OSError as error:
        raise BadInput(f"{key}={text}: the file cannot be read ({error.strerror})") from error
    return [line for line in lines if line[0].isdigit()]


def _choice(key: str, text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise UnknownName(f"value of {key}", text, choices)
    return text


def _policies_in(path: Path) -> Mapping[str, type[Policy]]:
    module = _run(path)
    found = getattr(module, "POLICIES", None)
    if not isinstance(found, dict) or not found:
        raise BadInput(f"{path}: no policy in it; it needs POLICIES = {{'name': Class}}")
    for name, policy in found.items():
        _check_name(path, name)
        _check_class(path, name, policy)
    return found


def _check_name(path: Path, name: object) -> None:
    """Names are folders, labels and words of the command line, too."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadInput(
            f"{path}: POLICIES names a policy {name!r}; give a letter or digit, then up to "
            f"{LONGEST_NAME - 1} letters, digits, '-', '_' or '+'"
        )


def _check_class(path: Path, name: str, policy: object) -> None:
    where = f"{path}: POLICIES[{name!r}]"
    if not isinstance(policy, type):
        raise BadInput(f"{where} is {policy!r}; give a class, not an object")
    if not callable(getattr(policy, "decide", None)):
        raise BadInput(f"{where}: {policy.__name__} has no decide(self, snapshot)")
    _check_decide(where, policy)
    if "__dataclass_fields__" not in vars(policy):
        raise BadInput(
            f"{where}: {policy.__name__} is no dataclass; write @dataclass(frozen=True) above it"
        )
    memory = getattr(policy, "memory_columns", None)
    if not isinstance(memory, Mapping) or not all(isinstance(v, int) for v in memory.values()):
        raise BadInput(
            f"{where}: {policy.__name__} must say what it remembers of each job; write "
            "memory_columns: ClassVar[dict[str, int]] = {}"
        )


def _check_decide(where: str, policy: type[Any]) -> None:
    """That it can be called with a snapshot."""
    is_method = inspect.isfunction(inspect.getattr_static(policy, "decide"))
    try:
        signature = inspect.signature(policy.decide)
    except ValueError:  # Of something compiled, which does not say what it takes.
        return
    try:
        signature.bind(*[None] * (1 + is_method))
    except TypeError:
        raise BadInput(
            f"{where}: {place_of_decide(policy)}{signature} cannot be called with a snapshot; "
            "write def decide(self, snapshot)"
        ) from None


def _run(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; a policy is a name or ./file.py")
    name = f"motet_user_policy_{path.stem}_{crc32(bytes(path.resolve())):08x}"
    spec = spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise BadInput(_loading_message(path, error)) from error
    return module


def _loading_message(path: Path, error: BaseException) -> str:
    found = fault_in(error, {path.resolve()})
    return str(found) if found else f"{path}: {type(error).__name__} while loading it: {error}"
