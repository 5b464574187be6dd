"""The place in an application where an error arose."""

from __future__ import annotations

import traceback
from pathlib import Path
from types import FunctionType

from motet.runtime.core.application import Application


def describe_fault(error: BaseException, app: Application) -> str:
    """One line: the error and the last place in the application's own file that led to it."""
    text = f"{type(error).__name__}: {error}"
    files = {
        member.__code__.co_filename
        for member in vars(type(app)).values()
        if isinstance(member, FunctionType)
    }
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not own:
        return text
    return f"{Path(own[-1].filename).name}:{own[-1].lineno} in {own[-1].name}: {text}"


def one_line(error: BaseException) -> str:
    """The error's type and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
