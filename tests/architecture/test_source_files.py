"""Rules for all source files. Each test lists all offenders.

To parse all files takes four seconds: only those are parsed whose lines may offend.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from source_tree import MODULES, name_of, syntax_tree

MAX_LINES = 400
DEFINITION = re.compile(
    r"^(?:(?:class|def|async def) ([^\W_]\w*)|([^\W_]\w*): TypeAlias|([A-Z]\w*[a-z]\w*) =)", re.M
)
"""The names that `defined_name` finds, and perhaps some in texts of several lines."""


def test_every_module_has_a_docstring() -> None:
    others = [path for path in MODULES if not path.read_text("utf-8").startswith('"""')]
    silent = [name_of(path) for path in others if not ast.get_docstring(syntax_tree(path))]
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


def defined_by(path: Path) -> set[str]:
    """The public top-level names of classes, functions and types."""
    names = {defined_name(node) for node in syntax_tree(path).body}
    return {name for name in names if name and not name.startswith("_")}


def modules_by_name(names: dict[Path, set[str]]) -> dict[str, list[Path]]:
    modules: dict[str, list[Path]] = defaultdict(list)
    for path, found in names.items():
        for name in found:
            modules[name].append(path)
    return {name: paths for name, paths in modules.items() if len(paths) > 1}


def shared_names() -> dict[str, list[str]]:
    """The modules that define each name of more than one of them."""
    first = {
        path: {"".join(names) for names in DEFINITION.findall(path.read_text("utf-8"))}
        for path in MODULES
    }
    suspects = {path for paths in modules_by_name(first).values() for path in paths}
    defined = {path: defined_by(path) for path in sorted(suspects)}
    return {name: [*map(name_of, paths)] for name, paths in modules_by_name(defined).items()}


def test_no_public_name_is_defined_in_two_modules() -> None:
    """A search for a public class, function or type finds one definition."""
    assert shared_names() == {}
