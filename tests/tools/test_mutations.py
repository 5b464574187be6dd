from __future__ import annotations

import ast
import textwrap

import pytest

from mutations import mutations_of


def mutants(body: str) -> set[tuple[str, str]]:
    """Kind and changed body of every mutant of a function."""
    source = f"def f(a, b, items):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    changed = [
        (it.what, it.applied_to(source.encode()).decode()) for it in mutations_of(source.encode())
    ]
    return {(what, textwrap.dedent(text.partition("\n")[2]).strip()) for what, text in changed}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", {("comparison", "return (a <= b)")}),
        ("return a is b", {("comparison", "return (a is not b)")}),
        ("return a and b", {("and/or", "return (a or b)")}),
        ("return a - b", {("arithmetic", "return (a + b)")}),
        ("return 7", {("off by one", "return 8")}),
        ("return True", {("constant", "return False")}),
        ("items.clear()", {("removed statement", "pass")}),
        ("a += b", {("removed statement", "pass")}),
        ("a.b = b", {("removed statement", "pass")}),
        ("return f(a, b, items)", {("swapped arguments", "return f(b, a, items)")}),
        ("return a if b else items", {("negated condition", "return a if not (b) else items")}),
        (
            "a = [b for b in items if a]",
            {("negated condition", "a = [b for b in items if not (a)]")},
        ),
    ],
)
def test_each_kind_of_fault_changes_one_place(body: str, expected: set[tuple[str, str]]) -> None:
    assert mutants(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        '"""A docstring of 3 lines."""',
        'raise ValueError(f"{a + 1} of {b}")',
        'log.info("read", a, b)',
        "assert a < b",
        "a: int | None = b",
        "return f(timeout_s=30)",
        "del a",
        "import os",
    ],
)
def test_what_no_test_should_notice_is_left_alone(body: str) -> None:
    assert mutants(body) == set()


def test_only_what_runs_inside_functions_is_changed() -> None:
    source = (
        b"LIMIT = 3\n\nclass A:\n    size: int = 4\n    def __repr__(self):\n        return 1\n"
    )
    assert mutations_of(source) == []


def test_text_beyond_ascii_does_not_shift_the_change() -> None:
    assert mutants('return "µs" if a else 1') == {
        ("negated condition", 'return "µs" if not (a) else 1'),
        ("off by one", 'return "µs" if a else 2'),
    }


def test_every_mutant_is_one_place_of_valid_python() -> None:
    source = b"def f(a):\n    if a:\n        a.b(1, 2)\n    return a == 3 or not a\n"
    found = mutations_of(source)
    assert len({it.applied_to(source) for it in found}) == len(found) > 5
    for mutation in found:
        ast.parse(mutation.applied_to(source))
    assert {it.line for it in found} == {2, 3, 4}
