"""Loading of a user's policy file; its classes are checked before a simulation starts."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from dataclasses import fields
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

from motet.domain.errors import BadInput
from motet.domain.policy import JobInput, Policy
from motet.engine.policy_loading.faults import fault_in, place_of_decide

LONGEST_NAME = 60
_NAME = re.compile(rf"[A-Za-z0-9][\w+-]{{0,{LONGEST_NAME - 1}}}", re.ASCII)
_DECLARATIONS = {
    "memory_columns": "memory_columns: ClassVar[dict[str, int]] = {}",
    "knows_durations": "knows_durations: ClassVar[bool] = True",
    "wants_estimates": "wants_estimates: ClassVar[bool] = True",
    "wants_machine_speeds": "wants_machine_speeds: ClassVar[bool] = True",
    "needed_inputs": "needed_inputs: ClassVar[dict[JobInput, str]] = {}",
    "useful_inputs": "useful_inputs: ClassVar[dict[JobInput, str]] = {}",
    "equal_shares_of": 'equal_shares_of: ClassVar[str] = "jobs"',
    "may_overtake": "may_overtake: ClassVar[bool] = True",
    "keeps_requests": "keeps_requests: ClassVar[bool] = True",
    "keeps_order": "keeps_order: ClassVar[bool] = True",
    "placement": 'placement: ClassVar[str] = "skew"',
}
"""The capabilities of `Policy`, and how a policy declares each of them."""


def policies_in(path: Path) -> Mapping[str, type[Policy]]:
    """The policies of the file's POLICIES, by name. Raises BadInput for a file without any."""
    module = _run(path)
    found = getattr(module, "POLICIES", None)
    if not isinstance(found, dict) or not found:
        raise BadInput(f"{path}: no policy in it; it needs POLICIES = {{'name': Class}}")
    for name, policy in found.items():
        _check_name(path, name)
        _check_class(path, name, policy)
    return found


def _check_name(path: Path, name: object) -> None:
    """Names are also used as folders, labels and command-line arguments."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadInput(
            f"{path}: POLICIES names a policy {name!r}; give a letter or digit, then up to "
            f"{LONGEST_NAME - 1} letters, digits, '-', '_' or '+'"
        )


def _check_class(path: Path, name: str, policy: object) -> None:
    where = f"{path}: POLICIES[{name!r}]"
    if not isinstance(policy, type):
        raise BadInput(f"{where} is {policy!r}; give a class, not an object")
    if not callable(getattr(policy, "decide", None)) or inspect.isabstract(policy):
        raise BadInput(f"{where}: {policy.__name__} has no decide(self, snapshot)")
    _check_decide(where, policy)
    if "__dataclass_fields__" not in vars(policy):
        raise BadInput(
            f"{where}: {policy.__name__} is no dataclass; write @dataclass(frozen=True) above it"
        )
    for capability in _DECLARATIONS:
        _check_capability(where, capability, policy)
    if not hasattr(policy, "needs_durations"):
        policy.needs_durations = Policy.needs_durations  # type: ignore[attr-defined]


def _check_capability(where: str, name: str, policy: type[Any]) -> None:
    """A class that does not derive from `Policy` gets its default for what it does not declare."""
    default = getattr(Policy, name)
    if not hasattr(policy, name):
        setattr(policy, name, default)
    declared: object = getattr(policy, name)
    if name in {field.name for field in fields(policy)}:
        problem = f"{name} is a parameter here"
    elif not isinstance(declared, Mapping if isinstance(default, Mapping) else type(default)):
        problem = f"{name} is {declared!r}"
    elif isinstance(declared, Mapping) and (wrong := _wrong_entry(name, declared)):
        problem = f"{name} has {wrong}"
    else:
        return
    raise BadInput(f"{where}: {policy.__name__}: {problem}; write {_DECLARATIONS[name]}")


def _wrong_entry(name: str, declared: Mapping[Any, Any]) -> str | None:
    """What is wrong with an entry of a capability that is a mapping."""
    if name == "memory_columns":
        is_right = all(isinstance(value, int) for value in declared.values())
        return None if is_right else "a value for new jobs that is no whole number"
    entries = declared.items()
    is_right = all(isinstance(k, JobInput) and isinstance(v, str) for k, v in entries)
    return None if is_right else "an entry that is no JobInput with a text"


def _check_decide(where: str, policy: type[Any]) -> None:
    """Check that `decide` can be called with a snapshot."""
    is_method = inspect.isfunction(inspect.getattr_static(policy, "decide"))
    try:
        signature = inspect.signature(policy.decide)
    except ValueError:  # Compiled functions may have no signature.
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
