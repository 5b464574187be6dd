"""Long names in code may break after an underscore, a dot or a slash, and before an inner capital.

Browsers break names such as `resource_time_0` anywhere or not at all. The pages mark the places in
their HTML with `<wbr>`, which copied text and the index of the search do not contain.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

LONG_NAME = 12
"""Shorter names stay whole."""

CODE = re.compile(r'(<span class="pre">)([^<]+)(?=</span>)')
IN_INDEX = re.compile(r'(<code class="xref">|<li><a href="[^"]*">)([^<]+)(?=</)')
INDEXES = ("genindex.html", "py-modindex.html")
AFTER_SEPARATOR = re.compile(r"((?<=\w[./=:,])|(?<=[A-Za-z0-9]_))(?=_{0,2}[A-Za-z])")
BEFORE_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")


def with_breaks(html: str) -> str:
    """`html` with a `<wbr>` wherever a long name in code may break."""
    return CODE.sub(lambda code: code[1] + _broken(code[2]), html)


def index_with_breaks(html: str) -> str:
    """The same for the names that an index lists."""
    return IN_INDEX.sub(lambda name: name[1] + _broken(name[2]), html)


def _broken(name: str) -> str:
    if len(name) < LONG_NAME:
        return name
    for place in (AFTER_SEPARATOR, BEFORE_CAPITAL):
        name = place.sub("<wbr>", name)
    return name


def _mark(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    if "body" in context:
        context["body"] = with_breaks(context["body"])


def _mark_indexes(app: Sphinx, error: Exception | None) -> None:
    """Sphinx fills the pages of the indexes after the event of other pages."""
    for page in (app.outdir / name for name in INDEXES):
        if error is None and page.is_file():
            page.write_text(index_with_breaks(page.read_text("utf-8")), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Mark the breaks of every page."""
    app.connect("html-page-context", _mark)
    app.connect("build-finished", _mark_indexes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
