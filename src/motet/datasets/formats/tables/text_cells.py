"""Cells of a table that are no numbers: missing values, words, dates; what is said about them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from motet.datasets.formats.numbers import is_number
from motet.datasets.formats.tables.decimal_commas import clearer_forms
from motet.datasets.formats.tables.layout import CellLayout
from motet.datasets.kinds.target import begins_with_date
from motet.domain.errors import BadInput

TRUTH = {"true": b"1", "false": b"0"}
"""What pandas and spreadsheets write for a feature that is or is not there."""
_LOOK_AHEAD_LINES = 100
_MOST_SHOWN = 8
_TIME = re.compile(r"\d{1,2}:\d\d")


def is_missing_cell(cell: str, na: tuple[str, ...]) -> bool:
    """Whether a cell is empty, nan or one of the texts for a missing value."""
    text = cell.strip()
    return text == "" or text in na or text.lower() == "nan"


def is_of_words(layout: CellLayout, column: int, na: tuple[str, ...]) -> bool:
    """Whether more of the column's first cells are words than numbers; some may be missing."""
    return _are_words(_present(_first_rows(layout), column, na))


def unclear_numbers(layout: CellLayout, column: int, na: tuple[str, ...]) -> BadInput | None:
    """The error for a column of numbers with a comma for thousands or decimals; None for others."""
    cells = _present(_first_rows(layout), column, na)
    if not cells or clearer_forms(cells[0]) is None:
        return None
    problem = f"{layout.column_name(column)} is {cells[0]!r}, not a number"
    return layout.file.complaint(problem, f"write {clearer_forms(cells[0])}")


def first_text(
    layout: CellLayout, columns: tuple[int, ...], na: tuple[str, ...]
) -> BadInput | None:
    """The error for the first line with a cell that is no number; it names all such columns."""
    for number, cells in layout.data_lines():
        if len(cells) != layout.column_count:
            return layout.uneven(number, len(cells))
        wrong = [column for column in columns if not _is_value(cells[column], na)]
        if wrong:
            return _wrong_columns(layout, columns, wrong, cells, na, number)
    return None


def _wrong_columns(
    layout: CellLayout,
    columns: tuple[int, ...],
    wrong: list[int],
    cells: list[str],
    na: tuple[str, ...],
    number: int,
) -> BadInput:
    rows = _first_rows(layout)
    found = []
    for column in columns:
        present = _present(rows, column, na)
        first = cells[column] if column in wrong else next(iter(present), "")
        if _looks_like_words(first) and _are_words(present):
            found.append(_TextColumn(column, first))
    if wrong[0] not in [each.column for each in found]:
        return _no_number(layout, wrong[0], cells[wrong[0]], number)
    return _words_in_columns(layout, found, number)


@dataclass(frozen=True)
class _TextColumn:
    """A column of words or dates; `cell`: one of them."""

    column: int
    cell: str

    @property
    def kind(self) -> str:
        """In words."""
        return "dates" if _is_date_or_time(self.cell.strip()) else "words"


def _is_date_or_time(cell: str) -> bool:
    return begins_with_date(cell) or _TIME.match(cell) is not None


def _first_rows(layout: CellLayout) -> list[list[str]]:
    return [cells for _, cells in islice(layout.data_lines(), _LOOK_AHEAD_LINES)]


def _present(rows: list[list[str]], column: int, na: tuple[str, ...]) -> list[str]:
    cells = (cells[column] for cells in rows if len(cells) > column)
    return [cell for cell in cells if not is_missing_cell(cell, na)]


def _are_words(cells: list[str]) -> bool:
    return 2 * sum(map(is_number, cells)) < len(cells)


def _looks_like_words(cell: str) -> bool:
    """Whether a cell is a word, an id, a date or a time, and not a wrong number."""
    text = cell.strip()
    is_word = any(map(str.isalpha, text)) and text.lower() not in TRUTH
    return is_word or _is_date_or_time(text)


def _is_value(cell: str, na: tuple[str, ...]) -> bool:
    return is_number(cell) or is_missing_cell(cell, na) or cell.strip().lower() in TRUTH


def _no_number(layout: CellLayout, column: int, cell: str, number: int) -> BadInput:
    name = layout.reference((column,))
    problem = f"{layout.column_name(column)} is {cell!r}, not a number"
    forms = clearer_forms(cell)
    remedy = (
        f"{f'write {forms}' if forms else 'correct it'}, leave the column out (--drop {name}), "
        f"make it the target (--target {name}), or say that it means a missing value "
        f"(--na {cell!r})"
    )
    return layout.file.complaint(problem, remedy, number)


def _words_in_columns(layout: CellLayout, found: list[_TextColumn], number: int) -> BadInput:
    """The error for all columns of words, so that one run of the user names them all."""
    shown = ", ".join(
        f"{layout.column_name(each.column)} holds {each.kind} ({each.cell!r})"
        for each in found[:_MOST_SHOWN]
    )
    more = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    name = layout.reference([each.column for each in found])
    out = f"leave the column out (--drop {name}), or make it the target (--target {name})"
    if len(found) > 1:
        out = f"leave the columns out (--drop {name}), or make one the target (--target)"
    return layout.file.complaint(shown + more, f"{_encoding(layout, found)}, {out}", number)


def _encoding(layout: CellLayout, found: list[_TextColumn]) -> str:
    """How to make numbers of words and of dates."""
    parts = []
    if any(each.kind == "words" for each in found):
        parts.append("encode words as numbers, for example with pandas.get_dummies(..., dtype=int)")
    for date in [each for each in found if each.kind == "dates"][:1]:
        name = layout.names[date.column] if layout.names else date.column
        days = f"(pd.to_datetime(X[{name!r}]) - start) / pd.Timedelta('1D')"
        parts.append(f"convert dates to numbers, for example days: {days}")
    return "; ".join(parts)
