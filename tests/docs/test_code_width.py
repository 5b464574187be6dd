"""Commands and code in the documentation fit the width of a page, so that no reader scrolls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = (
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")),
    *(page for page in (REPOSITORY / "docs").rglob("*.md") if "_build" not in page.parts),
)
CODE = {"sh", "python", "yaml", "json"}
CODE_COLUMNS = 88
PRINTED_COLUMNS = 104
"""Tables have the columns of the program; docs/_static/page.css makes room for so many."""


def _blocks(page: Path) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """The language of every fenced block and its numbered lines."""
    language: str | None = None
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.startswith("```"):
            lines.append((number, line))
        elif language is None:
            language, lines = line.removeprefix("```"), []
        else:
            yield language, lines
            language = None


def _limits(language: str, lines: list[tuple[int, str]]) -> Iterator[tuple[int, str, int]]:
    """Each line with its limit; commands of a console block continue after a backslash."""
    is_command, previous = False, ""
    for number, line in lines:
        is_command = line.startswith("$ ") or (is_command and previous.endswith("\\"))
        is_code = language in CODE or (language == "console" and is_command)
        yield number, line, CODE_COLUMNS if is_code else PRINTED_COLUMNS
        previous = line


def test_no_command_and_no_output_is_wider_than_a_page() -> None:
    wide = [
        f"{page.relative_to(REPOSITORY)}:{number}: {len(line)} columns, at most {limit}"
        for page in PAGES
        for language, lines in _blocks(page)
        if not language.startswith("{")  # a directive, whose output the build makes
        for number, line, limit in _limits(language, lines)
        if len(line) > limit
    ]
    assert wide == []


def test_the_pages_have_code_of_both_kinds() -> None:
    languages = {language for page in PAGES for language, _ in _blocks(page)}
    assert {"sh", "console", "python", "text"} <= languages
