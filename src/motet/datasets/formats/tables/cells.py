"""Columns of numbers of a separated file as arrays; nan for a missing value."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from motet.datasets.formats.tables.layout import CellLayout
from motet.datasets.formats.tables.text_cells import TRUTH, first_text
from motet.domain.errors import BadInput


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
            fault = first_text(self.layout, self.columns, self.na)
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
    return TRUTH[cell.group(1).decode().lower()]
