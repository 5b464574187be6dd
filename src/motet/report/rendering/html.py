"""Results as HTML for notebooks: tables and figures without styles of their own files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEFT = "text-align:left"
_RIGHT = "text-align:right"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts; the first column is on the left, numbers are on the right."""
    head = _row("th", header) if any(header) else ""
    return f"<table>{head}{''.join(_row('td', row) for row in rows)}</table>"


def html_figure(figure: Figure) -> str:
    """The figure as SVG, which scales with the page and needs no file."""
    picture = io.StringIO()
    figure.savefig(picture, format="svg")
    svg = picture.getvalue()
    return svg[svg.index("<svg") :]


def html_page(heading: str, *parts: str) -> str:
    """A heading and parts that are HTML already."""
    return f"<div><p><strong>{escape(heading)}</strong></p>{''.join(parts)}</div>"


def _row(tag: str, cells: Sequence[str]) -> str:
    styles = (_LEFT, *[_RIGHT] * (len(cells) - 1))
    columns = (
        f"<{tag} style='{style}'>{escape(cell)}</{tag}>"
        for cell, style in zip(cells, styles, strict=True)
    )
    return f"<tr>{''.join(columns)}</tr>"
