"""Errors of a user's policy, with the line of the user's file that raised them."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import motet
from motet.domain.errors import MotetError

_MOTET = Path(motet.__file__).resolve().parent
_READ_ONLY = "read-only"


class BrokenPolicy(MotetError):
    """A policy raised an error, or made an invalid decision: half a gang, a time in the past."""


def fault(error: BaseException, policy: type[Any]) -> BrokenPolicy | None:
    """`mine.py:17 in decide: ZeroDivisionError: ...`; None if the error is not in a file of the
    user's own, but in a policy of Motet that the user's class derives from."""
    files = _files(policy)
    frames = _frames_in(error, files)
    if not frames or _is_of_motet(Path(frames[-1].filename).resolve()):
        return None
    return fault_in(error, {path for path in files if not _is_of_motet(path)})


def fault_in(error: BaseException, files: set[Path]) -> BrokenPolicy | None:
    """The same for an error in one of these files."""
    own = _frames_in(error, files)
    if not own:
        return None
    place = f"{relative_path(own[-1].filename)}:{own[-1].lineno} in {own[-1].name}"
    return BrokenPolicy(f"{place}: {type(error).__name__}: {error}{_remedy(error)}")


def failure_text(error: BaseException) -> str:
    """A policy's error in one line; of an error in a file of Motet with its place."""
    if isinstance(error, MotetError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{relative_path(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {error}"


def place_of_decide(policy: type[Any]) -> str:
    """`mine.py:12 in decide`."""
    code = getattr(policy.decide, "__code__", None)
    if code is None:
        return policy.__qualname__
    return f"{relative_path(code.co_filename)}:{code.co_firstlineno} in {code.co_name}"


def relative_path(file: str) -> str:
    """The path relative to the current folder if it is inside, else absolute."""
    path = Path(file).resolve()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _frames_in(error: BaseException, files: set[Path]) -> list[traceback.FrameSummary]:
    """Frames of the traceback that run code of these files, the innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if Path(frame.filename).resolve() in files]


def _files(policy: type[Any]) -> set[Path]:
    """Files that define a policy and the classes that it derives from."""
    modules = (sys.modules.get(each.__module__) for each in policy.__mro__)
    files = (getattr(module, "__file__", None) for module in modules)
    return {Path(file).resolve() for file in files if file}


def _is_of_motet(path: Path) -> bool:
    return path.is_relative_to(_MOTET)


def _remedy(error: BaseException) -> str:
    writes = isinstance(error, ValueError) and _READ_ONLY in str(error)
    writes |= isinstance(error, TypeError | AttributeError) and "mappingproxy" in str(error)
    return "; a policy cannot change its snapshot; change a copy of it" if writes else ""
