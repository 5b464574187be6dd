"""How the user called this program, for commands that can be copied from its output."""

from __future__ import annotations

from pathlib import Path

NAME = "motet"


def called_as(program: str, on_path: str | None) -> str:
    """`motet` where the shell finds this very program (`on_path`), else the path as given."""
    path = Path(program)
    if path.name != NAME or (on_path is not None and path.absolute() == Path(on_path).absolute()):
        return NAME
    return program
