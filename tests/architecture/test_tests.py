"""Rules for test files: where they lie says what they test."""

from __future__ import annotations

import ast
from pathlib import Path

from source_tree import SOURCE

TESTS = Path(__file__).resolve().parents[1]
SCRIPTS = ("benchmarks", "tools")
"""Folders of the repository that tests mirror besides `src/motet`."""


def mirrored(test: Path) -> Path:
    """The module of the same name in the same folder, whether or not there is one."""
    folder = test.relative_to(TESTS).parent
    root = TESTS.parent if folder.parts[0] in SCRIPTS else SOURCE
    return root / folder / f"{test.stem.removeprefix('test_')}.py"


def test_every_test_file_mirrors_a_module_or_says_what_it_integrates() -> None:
    others = [test for test in TESTS.rglob("test_*.py") if not mirrored(test).is_file()]
    silent = [
        test.relative_to(TESTS).as_posix()
        for test in others
        if not ast.get_docstring(ast.parse(test.read_text(encoding="utf-8")))
    ]
    assert sorted(silent) == []
