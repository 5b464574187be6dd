"""Rules for all source files, which are parsed once. Each test lists all offenders."""

from __future__ import annotations

import ast
from collections import defaultdict

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


def defined_name(node: ast.stmt) -> str:
    """Of a class, a function or an alias of a type; else empty."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) if name[0].isupper() and not name.isupper():
            return name
    return ""


def definitions() -> dict[str, list[str]]:
    """The modules that define each public top-level name of a class, function or type."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in syntax_tree(path).body:
            name = defined_name(node)
            if name and not name.startswith("_"):
                modules[name].append(name_of(path))
    return modules


def shared_names() -> dict[str, list[str]]:
    return {name: modules for name, modules in definitions().items() if len(modules) > 1}


def test_no_public_name_is_defined_in_two_modules() -> None:
    """A search for a public class, function or type finds one definition."""
    assert shared_names() == {}
