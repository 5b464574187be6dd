"""The source files of the package under test, as paths and as syntax trees."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "motet"
MODULES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted({path.parent for path in MODULES})


def name_of(path: Path) -> str:
    """The path below `src/motet`."""
    return path.relative_to(SOURCE).as_posix()


@cache
def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
