"""Errors of a policy, told so that whoever wrote it finds the place."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

from motet.domain.errors import MotetError

_MOTET = Path(__file__).resolve().parents[1]
_READ_ONLY = "read-only"


class BrokenPolicy(MotetError):
    """A policy failed, or decided what cannot be: half a gang, a time gone by."""


def fault(error: BaseException, policy: type[Any]) -> BrokenPolicy | None:
    """`mine.py:17 in decide: ZeroDivisionError: ...`; None if the error is not in a file of the
    user's own."""
    return fault_in(error, _own_files(policy))


def fault_in(error: BaseException, files: set[Path]) -> BrokenPolicy | None:
    """The same for an error in one of these files."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).resolve() in files]
    if not own:
        return None
    place = f"{shown(own[-1].filename)}:{own[-1].lineno} in {own[-1].name}"
    return BrokenPolicy(f"{place}: {type(error).__name__}: {error}{_remedy(error)}")


def place_of_decide(policy: type[Any]) -> str:
    """`mine.py:12 in decide`."""
    code = getattr(policy.decide, "__code__", None)
    if code is None:
        return policy.__qualname__
    return f"{shown(code.co_filename)}:{code.co_firstlineno} in {code.co_name}"


def shown(file: str) -> str:
    """A path as people in the current folder write it."""
    path = Path(file).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _own_files(policy: type[Any]) -> set[Path]:
    """Where a policy and what it inherits from are written, outside of Motet."""
    modules = (sys.modules.get(each.__module__) for each in policy.__mro__)
    files = (getattr(module, "__file__", None) for module in modules)
    paths = {Path(file).resolve() for file in files if file}
    return {path for path in paths if not path.is_relative_to(_MOTET)}


def _remedy(error: BaseException) -> str:
    writes = isinstance(error, ValueError) and _READ_ONLY in str(error)
    writes |= isinstance(error, TypeError | AttributeError) and "mappingproxy" in str(error)
    return "; a policy cannot change its snapshot; change a copy of it" if writes else ""
