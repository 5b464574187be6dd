"""Cells of tables get the class `long` or `short` by their text.

A browser shares the width of a narrow screen among all columns: numbers break, and sentences
have two words a line. CSS cannot tell one from the other, so the build does.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

LONG = 30
"""Characters from which a text of several words takes many lines and needs a wide column."""

SHORT = 16
"""Characters up to which a text stays on one line."""


def mark_cells(doctree: nodes.document) -> None:
    """Add the class to every cell of `doctree`; texts of medium length have none."""
    for cell in doctree.findall(nodes.entry):
        text = cell.astext()
        if len(text) >= LONG and len(text.split()) > 3:
            cell["classes"].append("long")
        elif len(text) <= SHORT:
            cell["classes"].append("short")


def _mark(app: Sphinx, doctree: nodes.document) -> None:
    mark_cells(doctree)


def setup(app: Sphinx) -> dict[str, bool]:
    """Mark the cells of every page when it is read."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
