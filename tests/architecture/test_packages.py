"""Rules for every package: a charter, and a size that a reader can survey."""

from __future__ import annotations

import ast
from pathlib import Path

from source_tree import PACKAGES, name_of, syntax_tree

MAX_MODULES = 14
ONE_MODULE_PER_FORMAT = {"sim/traces/formats"}


def module_count(package: str) -> int:
    (path,) = (path for path in PACKAGES if name_of(path) == package)
    return len([module for module in path.glob("*.py") if module.name != "__init__.py"])


def charter(package: Path) -> str:
    docstring = ast.get_docstring(syntax_tree(package / "__init__.py")) or ""
    return docstring.partition("\n")[0]


def test_every_package_has_a_charter() -> None:
    """The first line of the docstring in `__init__` is a complete sentence."""
    without = [name_of(path) for path in PACKAGES if not (path / "__init__.py").is_file()]
    assert without == []
    charters = {name_of(path): charter(path) for path in PACKAGES}
    assert [name for name, text in charters.items() if not text.endswith(".")] == []


def test_no_package_has_more_than_14_modules() -> None:
    packages = {name_of(path) for path in PACKAGES} - ONE_MODULE_PER_FORMAT
    assert {name for name in packages if module_count(name) > MAX_MODULES} == set()
