"""The place in an application where an error arose."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

from motet.domain.errors import JobFailed, MotetError
from motet.runtime.core.application import Application

_COME_WITH_MOTET = "motet.apps."


def describe_fault(error: BaseException, app: Application) -> str:
    """One line: the error and the last place in the application's own file that led to it."""
    text = f"{type(error).__name__}: {error}"
    own = _own_frames(error, app)
    if not own:
        return text
    return f"{Path(own[-1].filename).name}:{own[-1].lineno} in {own[-1].name}: {text}"


@contextmanager
def told_faults(app: Application, kind: type[MotetError] = JobFailed) -> Iterator[None]:
    """Raise `kind` with one line for what an application of a user's own raises in this process.

    Other errors pass, and so do those of Motet's applications: they are unexpected.
    """
    try:
        yield
    except MotetError:
        raise
    except Exception as error:
        is_users = not type(app).__module__.startswith(_COME_WITH_MOTET)
        if is_users and _own_frames(error, app):
            raise kind(describe_fault(error, app)) from error
        raise


def _own_frames(error: BaseException, app: Application) -> list[traceback.FrameSummary]:
    files = {
        member.__code__.co_filename
        for member in vars(type(app)).values()
        if isinstance(member, FunctionType)
    }
    return [each for each in traceback.extract_tb(error.__traceback__) if each.filename in files]


def one_line(error: BaseException) -> str:
    """The error's type and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
