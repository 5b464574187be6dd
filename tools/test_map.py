"""Which test files cover which module, from mirrored names and from imports.

    python tools/test_map.py                     # every module with the tests next to it
    python tools/test_map.py motet.engine.step   # all tests that reach one module, nearest first
    python tools/test_map.py --without-tests     # modules that no test mirrors or imports itself

The distance of a test file from a module is 0 where the names mirror each other
(`tests/engine/test_step.py` and `motet.engine.step`), else the number of imports between the two:
1 if the test imports the module itself, 2 if it imports a module that does, and so on. Imports
inside functions count; imports for type checkers alone do not. A test that only starts the `motet`
command reaches no module this way.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
NEAR = 1


@dataclass(frozen=True, order=True)
class Relation:
    """A test file that reaches a module, and over how many imports."""

    distance: int
    test: str


class ImportGraph:
    """The import graph of `src`, `tests/support` and the test files of one checkout."""

    def __init__(self, repository: Path = REPOSITORY) -> None:
        self._modules = dict(_modules_below(repository / "src"))
        self._modules |= dict(_modules_below(repository / "tests" / "support"))
        self._tests = sorted((repository / "tests").rglob("test_*.py"))
        self._tests_root = repository / "tests"
        self._imports = {name: self._imported(path) for name, path in self._modules.items()}
        self._relations = self._relate()

    @property
    def modules(self) -> list[str]:
        """All modules of the package, packages' `__init__` left out."""
        files = self._modules.items()
        return [n for n, path in files if n.startswith("motet.") and path.name != "__init__.py"]

    def tests_of(self, module: str) -> list[Relation]:
        """All test files that reach a module, nearest first."""
        return sorted(self._relations[module])

    def module_of(self, path: Path) -> str:
        """The name of the module in a source file. Raises KeyError."""
        return {file: name for name, file in self._modules.items()}[path.resolve()]

    def _relate(self) -> dict[str, list[Relation]]:
        relations: dict[str, list[Relation]] = defaultdict(list)
        for test in self._tests:
            name = test.relative_to(self._tests_root.parent).as_posix()
            for module, distance in self._reached(test).items():
                relations[module].append(Relation(distance, name))
        return relations

    def _reached(self, test: Path) -> dict[str, int]:
        """Every module that a test file imports, and the number of imports between them."""
        distances: dict[str, int] = {}
        reached, distance = self._imported(test), 1
        while reached:
            distances |= dict.fromkeys(reached, distance)
            further = set().union(*(self._imports[module] for module in reached))
            reached, distance = further - distances.keys(), distance + 1
        mirrored = self._mirrored(test)
        return distances | ({mirrored: 0} if mirrored in self._modules else {})

    def _mirrored(self, test: Path) -> str:
        folders = test.relative_to(self._tests_root).parts[:-1]
        return ".".join(["motet", *folders, test.stem.removeprefix("test_")])

    def _imported(self, path: Path) -> set[str]:
        """The modules of the graph that a file imports."""
        names = set(_names_imported(ast.parse(path.read_text(encoding="utf-8"))))
        return {found for name in names if (found := self._module_in(name))}

    def _module_in(self, name: str) -> str:
        """`a.b` for `a.b.Class` and for `a.b`; "" for what is not of this repository."""
        for candidate in (name, name.rpartition(".")[0]):
            if candidate in self._modules:
                return candidate
        return ""


def _modules_below(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _names_imported(node: ast.AST) -> Iterator[str]:
    """Dotted names of `import a.b` and `from a.b import c`; relative imports are not in use."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        for child in ast.iter_child_nodes(node):
            yield from _names_imported(child)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("module", nargs="?", help="dotted name of a module")
    parser.add_argument("--without-tests", action="store_true", help="list modules without tests")
    given = parser.parse_args()
    tests = ImportGraph()
    if given.module:
        if given.module not in tests.modules:
            parser.error(f"{given.module} is not a module below src")
        for relation in tests.tests_of(given.module):
            print(relation.distance, relation.test)
        return
    for module in tests.modules:
        near = [it.test for it in tests.tests_of(module) if it.distance <= NEAR]
        if given.without_tests and not near:
            print(module)
        elif not given.without_tests:
            print(module, *near, sep="\n    ")


if __name__ == "__main__":
    main()
