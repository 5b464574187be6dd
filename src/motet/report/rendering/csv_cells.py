"""Cells of CSV files that a spreadsheet would run as formulas; they are written as text.

An apostrophe before a cell makes it text in a spreadsheet. Numbers stay numbers.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED_FORMULA = re.compile(r"''*[=+\-@\t\r]")


def inert_cell(cell: object) -> object:
    """Return the cell with an apostrophe before it if a spreadsheet would run it."""
    if isinstance(cell, str) and _FORMULA.match(cell) and not _is_number(cell):
        return f"'{cell}"
    return cell


def original_cell(cell: str) -> str:
    """Return the text for which `inert_cell` returned this cell."""
    return cell[1:] if _QUOTED_FORMULA.match(cell) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
