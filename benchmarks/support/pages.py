"""Sections of documentation pages that a benchmark writes from what it measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

Row = Sequence[str]


def table(head: Row, rows: Iterable[Row]) -> str:
    """In Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def put_into(page: Path, section: str, script: str, heading: str, part: str = "") -> None:
    """Replace what `script` wrote into the page before, or put it before the line `heading`.

    `part`: of several sections that the script writes into the page. Raises ValueError where the
    page has neither.
    """
    begin, end = begin_of(script, part), "<!-- evidence: ends -->"
    text, marked = page.read_text(encoding="utf-8"), f"{begin}\n{section.strip()}\n{end}"
    if begin in text:
        head, _, rest = text.partition(begin)
        text = head + marked + rest.partition(end)[2]
    elif f"\n{heading}\n" in text:
        head, _, rest = text.partition(f"\n{heading}\n")
        text = f"{head}\n{marked}\n\n{heading}\n{rest}"
    else:
        raise ValueError(f"{page}: neither the mark of {script} nor the line '{heading}'")
    page.write_text(text, encoding="utf-8")


def begin_of(script: str, part: str = "") -> str:
    """The mark before such a section."""
    words = f"{script} --report {part}".rstrip()
    return f"<!-- evidence: begins (benchmarks/{words}) -->"
