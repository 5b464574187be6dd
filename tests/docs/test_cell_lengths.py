"""Narrow screens get to know which cells of a table hold sentences and which hold numbers."""

from __future__ import annotations

import pytest
from cell_lengths import mark_cells
from docutils import nodes
from docutils.utils import new_document


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("922 \N{PLUS-MINUS SIGN}67", ["short"]),
        ("", ["short"]),
        ("experiments per hour", []),
        ("motet_schedule_duration_seconds_bucket", []),
        ("the jobs that a policy stopped and started again", ["long"]),
    ],
)
def test_a_cell_is_marked_by_the_length_of_its_text(text: str, classes: list[str]) -> None:
    assert _marked(nodes.paragraph(text=text))["classes"] == classes


def test_markup_in_a_cell_does_not_count() -> None:
    name = nodes.literal(text="num_gpus", classes=["docutils", "literal", "notranslate"])
    assert _marked(nodes.paragraph("", "", name))["classes"] == ["short"]


def _marked(content: nodes.Node) -> nodes.entry:
    page = new_document("page")
    cell = nodes.entry("", content)
    page += nodes.table("", nodes.tgroup("", nodes.tbody("", nodes.row("", cell)), cols=1))
    mark_cells(page)
    return cell
