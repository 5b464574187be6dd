"""A public class or function has a name of its own: a search for it finds one definition."""

from __future__ import annotations

import ast
from collections import defaultdict

from source_tree import MODULES, name_of, syntax_tree

DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def definitions() -> dict[str, list[str]]:
    """The modules that define each public top-level class or function."""
    modules: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in syntax_tree(path).body:
            if isinstance(node, DEFINITIONS) and not node.name.startswith("_"):
                modules[node.name].append(name_of(path))
    return modules


def shared_names() -> dict[str, list[str]]:
    return {name: modules for name, modules in definitions().items() if len(modules) > 1}


def test_no_public_name_is_defined_in_two_modules() -> None:
    assert shared_names() == {}
