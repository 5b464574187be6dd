"""A public class, function or type has a name of its own: a search for it finds one definition."""

from __future__ import annotations

import ast
from collections import defaultdict

from source_tree import MODULES, name_of, syntax_tree


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
    assert shared_names() == {}
