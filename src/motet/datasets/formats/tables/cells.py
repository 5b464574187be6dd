"""Columns of numbers of a separated file as arrays; nan for a missing value."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from motet.datasets.formats.numbers import is_number
from motet.datasets.formats.tables.decimal_commas import clearer_forms
from motet.datasets.formats.tables.layout import CellLayout
from motet.domain.errors import BadInput

_TRUTH = {"true": b"1", "false": b"0"}
"""What pandas and spreadsheets write for a feature that is or is not there."""
_LOOK_AHEAD_LINES = 100
_MOST_SHOWN = 8
_DATE_OR_TIME = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d\d")


@dataclass(frozen=True)
class NumberTable:
    """Some columns of a file. `values`: (rows, columns) float64, finite or nan (missing)."""

    layout: CellLayout
    columns: tuple[int, ...]
    values: NDArray[np.float64]

    @classmethod
    def read(cls, layout: CellLayout, columns: tuple[int, ...], na: tuple[str, ...]) -> NumberTable:
        """Parse the columns; raises `BadInput` for text, infinity, or lines of another width."""
        parse = _Parser.of(layout, columns, na)
        blocks = [parse(block) for block in layout.data_blocks()]
        table = cls(layout, columns, np.concatenate(blocks) if len(blocks) > 1 else blocks[0])
        is_infinite = np.isinf(table.values)
        if is_infinite.any():
            raise table.complaint_about_first(is_infinite, "infinite", "numbers must be finite")
        return table

    def complaint_about_first(
        self, is_wrong: NDArray[np.bool_], problem: str, remedy: str
    ) -> BadInput:
        """Return the error for the first cell (line by line) that is marked in (rows, columns)."""
        row, position = np.argwhere(is_wrong)[0]
        column = self.columns[position]
        number, cells = next(islice(self.layout.data_lines(), int(row), None))
        name = self.layout.column_name(column)
        return self.layout.file.complaint(f"{name} is {cells[column]!r}, {problem}", remedy, number)


def is_of_words(layout: CellLayout, column: int, na: tuple[str, ...]) -> bool:
    """Whether more of the column's first cells are words than numbers; some may be missing."""
    first = islice(layout.data_lines(), _LOOK_AHEAD_LINES)
    cells = [cells[column] for _, cells in first if len(cells) > column]
    present = [cell for cell in cells if not is_missing(cell, na)]
    return 2 * sum(map(is_number, present)) < len(present)


def is_missing(cell: str, na: tuple[str, ...]) -> bool:
    """Whether a cell is empty, nan or one of the texts for a missing value."""
    text = cell.strip()
    return text == "" or text in na or text.lower() == "nan"


def _is_value(cell: str, na: tuple[str, ...]) -> bool:
    return is_number(cell) or is_missing(cell, na) or cell.strip().lower() in _TRUTH


def _first_text(
    layout: CellLayout, columns: tuple[int, ...], na: tuple[str, ...]
) -> BadInput | None:
    for number, cells in layout.data_lines():
        if len(cells) != layout.column_count:
            return layout.uneven(number, len(cells))
        wrong = [column for column in columns if not _is_value(cells[column], na)]
        if not wrong:
            continue
        words = [column for column in wrong if _is_of_words(layout, column, cells[column], na)]
        if wrong[0] not in words:
            return _no_number(layout, wrong[0], cells[wrong[0]], number)
        return _words_in_columns(layout, words, cells, number)
    return None


def _is_of_words(layout: CellLayout, column: int, cell: str, na: tuple[str, ...]) -> bool:
    """Whether a column holds words, dates or times, and not only some wrong numbers."""
    looks_so = cell.strip()[:1].isalpha() or _DATE_OR_TIME.match(cell.strip()) is not None
    return looks_so and is_of_words(layout, column, na)


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


def _words_in_columns(
    layout: CellLayout, columns: list[int], cells: list[str], number: int
) -> BadInput:
    """The error for all columns of words, so that one run of the user names them all."""
    shown = ", ".join(
        f"{layout.column_name(column)} holds words ({cells[column]!r})"
        for column in columns[:_MOST_SHOWN]
    )
    more = f" and {len(columns) - _MOST_SHOWN} more" if len(columns) > _MOST_SHOWN else ""
    name = layout.reference(columns)
    out = f"leave the column out (--drop {name}), or make it the target (--target {name})"
    if len(columns) > 1:
        out = f"leave the columns out (--drop {name}), or make one the target (--target)"
    encoding = "encode them as numbers, for example with pandas.get_dummies(..., dtype=int)"
    return layout.file.complaint(shown + more, f"{encoding}, {out}", number)


@dataclass(frozen=True)
class _Parser:
    """Parses blocks of lines; if that fails, again with nan for missing values, 1 for true, 0 for
    false.
    """

    layout: CellLayout
    columns: tuple[int, ...]
    na: tuple[str, ...]
    missing: re.Pattern[bytes]
    truth: re.Pattern[bytes]

    @classmethod
    def of(cls, layout: CellLayout, columns: tuple[int, ...], na: tuple[str, ...]) -> _Parser:
        delimiter = layout.separator.delimiter
        return cls(layout, columns, na, _missing_cells(delimiter, na), _truth_cells(delimiter))

    def __call__(self, block: bytes) -> NDArray[np.float64]:
        """(rows, columns) float64."""
        block = self.layout.separator.as_single_character(block)
        try:
            return self._parse(block)
        except ValueError:
            filled = self.missing.sub(b"nan", block)
        try:
            return self._parse(self.truth.sub(_number_of_truth, filled))
        except ValueError as error:
            fault = _first_text(self.layout, self.columns, self.na)
            unknown = self.layout.file.complaint(str(error), "give a table of numbers")
            raise fault or unknown from None

    def _parse(self, block: bytes) -> NDArray[np.float64]:
        return np.loadtxt(
            io.BytesIO(block),
            np.float64,
            comments=None,
            delimiter=self.layout.separator.delimiter,
            usecols=self.columns,
            quotechar='"',
            ndmin=2,
        )


def _missing_cells(delimiter: str | None, na: tuple[str, ...]) -> re.Pattern[bytes]:
    """Return a pattern of cells that are empty or hold one of the tokens, but no blank lines."""
    tokens = b"|".join(re.escape(token.encode()) for token in na)
    if delimiter is None:
        return re.compile(rb"(?<!\S)(?:%b)(?!\S)" % tokens if na else rb"(?!)")
    mark = re.escape(delimiter.encode())
    pad = rb" *" if delimiter == "\t" else rb"[ \t]*"
    end = rb"(?=%b|\r?$)" % mark
    empty = rb'(?<=%b)%b(?:"")?%b%b|^%b(?:"")?%b(?=%b)' % (mark, pad, pad, end, pad, pad, mark)
    token = rb'(?:(?<=%b)|^)%b"?(?:%b)"?%b%b' % (mark, pad, tokens, pad, end)
    return re.compile(empty + b"|" + token if na else empty, re.MULTILINE)


def _truth_cells(delimiter: str | None) -> re.Pattern[bytes]:
    """Return a pattern of cells that hold true or false, in any case; the word is its group."""
    if delimiter is None:
        return re.compile(rb'(?<!\S)"?(true|false)"?(?!\S)', re.IGNORECASE)
    mark = re.escape(delimiter.encode())
    cell = rb'(?:(?<=%b)|^)[ ]*"?(true|false)"?[ ]*(?=%b|\r?$)' % (mark, mark)
    return re.compile(cell, re.IGNORECASE | re.MULTILINE)


def _number_of_truth(cell: re.Match[bytes]) -> bytes:
    return _TRUTH[cell.group(1).decode().lower()]
