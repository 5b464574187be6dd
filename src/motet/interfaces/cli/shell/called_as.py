"""The name under which the user called this program, for example commands in its output."""

from __future__ import annotations

from pathlib import Path

NAME = "motet"


def called_as(program: str, on_path: str | None) -> str:
    """`motet` if the shell finds this program under that name, else the path as given.

    `on_path`: the path of `motet` that the shell finds, or None.
    """
    path = Path(program)
    if path.name != NAME or (on_path is not None and path.absolute() == Path(on_path).absolute()):
        return NAME
    return program
