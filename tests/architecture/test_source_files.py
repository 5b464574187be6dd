"""Rules for every source file. Each test lists all offenders."""

from __future__ import annotations

import ast

from source_tree import MODULES, name_of, syntax_tree

MAX_LINES = 400


def test_every_module_has_a_docstring() -> None:
    silent = [name_of(path) for path in MODULES if not ast.get_docstring(syntax_tree(path))]
    assert silent == []


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}


def test_no_module_is_a_drawer_for_the_rest() -> None:
    drawers = {"utils.py", "util.py", "helpers.py", "misc.py", "common.py"}
    assert [name_of(path) for path in MODULES if path.name in drawers] == []
