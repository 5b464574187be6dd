"""Compiled code that Numba keeps on disk."""

from __future__ import annotations

import ast
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src" / "motet"
WITH_SORTS_OF_WHOLE_NUMBERS = ("allocation", "engine", "placement", "policies", "sim")
COMPILERS = ("njit", "numba.njit", "uncounted")


def test_kernels_of_whole_numbers_leave_argsort_to_numpy() -> None:
    """Numba gives the helpers of `np.sort` and of `np.argsort` of one type the same names. Kernels
    that two processes have compiled and a third one loads may then call each other's: an argsort
    returns values instead of rows. One of the two does not occur."""
    found = [
        f"{path.relative_to(SRC)}: {function.name}: {ast.unparse(call)}"
        for folder in WITH_SORTS_OF_WHOLE_NUMBERS
        for path in sorted((SRC / folder).rglob("*.py"))
        for function in _kernels(path)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("argsort")
    ]
    assert not found


def _kernels(path: Path) -> list[ast.FunctionDef]:
    source = path.read_text(encoding="utf-8")
    if not any(f"@{name}" in source for name in COMPILERS):
        return []  # To parse all modules takes four seconds.
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each).startswith(COMPILERS) for each in node.decorator_list)
    ]


def test_functions_without_reference_counts_call_only_such() -> None:
    """Numba would compile any other one without reference counts, too, and keep it so on disk."""
    kernels = [function for path in sorted(SRC.rglob("*.py")) for function in _kernels(path)]
    uncounted = {
        function.name
        for function in kernels
        if any(ast.unparse(each) == "uncounted" for each in function.decorator_list)
    }
    assert uncounted
    counted = {function.name for function in kernels} - uncounted
    called = {
        (function.name, call.func.id)
        for function in kernels
        if function.name in uncounted
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }
    assert not {names for names in called if names[1] in counted}
