"""Sections that benchmarks write into pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.pages import begin_of, put_into, table

HEADING = "## Where it departs from its source"


def test_a_page_keeps_its_other_sections_and_has_the_evidence_once(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Cruise\n\n{HEADING}\n\n- none\n")
    put_into(page, "first", "one.py", HEADING)
    put_into(page, "second", "one.py", HEADING)
    text = page.read_text()
    assert text.count(begin_of("one.py")) == 1
    assert "first" not in text
    assert text.index("second") < text.index(HEADING) < text.index("- none")


def test_sections_of_two_scripts_stand_side_by_side(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{HEADING}\n")
    put_into(page, "of one", "one.py", HEADING)
    put_into(page, "of two", "two.py", HEADING)
    put_into(page, "of one again", "one.py", HEADING)
    text = page.read_text()
    assert "of one again" in text
    assert "of two" in text
    assert "of one\n" not in text


def test_a_script_writes_each_of_its_parts_where_it_was(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{HEADING}\n")
    put_into(page, "speed", "one.py", HEADING, "speed")
    put_into(page, "faults", "one.py", HEADING, "faults")
    put_into(page, "speed again", "one.py", HEADING, "speed")
    text = page.read_text()
    assert "speed\n" not in text
    assert text.index("speed again") < text.index("faults") < text.index(HEADING)


def test_a_page_without_a_place_for_it_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n")
    with pytest.raises(ValueError, match="neither the mark"):
        put_into(page, "section", "one.py", HEADING)
    assert page.read_text() == "# Page\n"


def test_tables_are_markdown() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
