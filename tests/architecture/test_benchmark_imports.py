"""Benchmarks run by hand: a module that moved must not break one unnoticed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def is_module(name: str) -> bool:
    place = ROOT / "src" / Path(*name.split("."))
    return (place / "__init__.py").is_file() or place.with_suffix(".py").is_file()


def test_every_module_of_motet_that_a_benchmark_imports_exists() -> None:
    files = sorted((ROOT / "benchmarks").rglob("*.py"))
    names = {(file.name, name) for file in files for name in imported(file)}
    own = {(file, name) for file, name in names if name.split(".")[0] == "motet"}
    assert own
    assert not {(file, name) for file, name in own if not is_module(name)}
