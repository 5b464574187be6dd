"""The layout of a file of separated cells, shared by CSV tables and rating files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import InputFile
from motet.datasets.formats.numbers import is_number
from motet.datasets.formats.tables.decimal_commas import DecimalCommas
from motet.datasets.formats.tables.records import Records, lines_in
from motet.datasets.formats.tables.separator import Separator
from motet.domain.errors import BadInput

COMMENT_MARKS = ("#", "%")
_BLANK_LINE = re.compile(rb"^[ \t]+\r?(\n|\Z)", re.MULTILINE)
_CLEAR_NAME = re.compile(r"(?!missing|-?\d|-)[^,'\n]+")
_LINE_OF_SPACES = re.compile(rb"^ +\r?(\n|\Z)", re.MULTILINE)


@dataclass(frozen=True)
class CellLayout:
    """The layout of a file's lines: cells per line, and where the data start.

    `names`: the cells of a header line. `first_line`: number of the first line with data, from 1;
    comment lines (`#`) and the header are before it. `commas`: None if numbers have points.
    """

    file: InputFile
    separator: Separator
    column_count: int
    names: tuple[str, ...] | None
    first_line: int
    commas: DecimalCommas | None = None

    @property
    def records(self) -> Records:
        """The records of the whole file."""
        return Records(self.file, self.separator)

    def data_lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of every line with data, with its number in the file."""
        for number, line in self.records.lines():
            if number >= self.first_line and line.strip():
                yield number, self.separator.split(_with_points(line, self.commas))

    def line_number(self, row: int) -> int:
        """Return the line number of data row `row` (from 0)."""
        numbers = (number for number, _ in self.data_lines())
        return next(number for index, number in enumerate(numbers) if index == row)

    def column_name(self, column: int) -> str:
        """Return `column 3 'age'`, or `column 3` if the file has no header; from 0."""
        return f"column {column}" + (f" {self.names[column]!r}" if self.names else "")

    def reference(self, columns: Sequence[int]) -> str:
        """Return what `--drop` takes for these columns: names, or indices if names are unclear."""
        names = self.names or ()
        is_clear = all(
            names.count(name) == 1 and _CLEAR_NAME.fullmatch(name)
            for name in (names[column] if names else "" for column in columns)
        )
        text = ",".join(names[column] if is_clear else str(column) for column in columns)
        return text if re.fullmatch(r"[\w-]+", text) else f"'{text}'"

    def data_blocks(self) -> Iterator[bytes]:
        """Yield the content from `first_line` on in blocks of whole lines.

        Raises `BadInput` for the first line that has another number of cells than the others.
        """
        is_empty = True
        for number, data in self.records.blocks(self.first_line):
            counts = self.separator.cell_counts(data)
            self._require_even(counts, data, number)
            if counts.any():
                is_empty = False
                if not counts.all():
                    data = self._without_blank_lines(data)
                yield data if self.commas is None else self.commas.in_block(data)
        if is_empty:
            raise self.file.complaint("no line holds data", "give a file with data")

    def _without_blank_lines(self, block: bytes) -> bytes:
        """Remove lines of blanks, which NumPy does not skip. A line of tabs can be empty cells."""
        pattern = _LINE_OF_SPACES if self.separator.text == "\t" else _BLANK_LINE
        return pattern.sub(b"", block)

    def _require_even(self, counts: NDArray[np.int64], block: bytes, first_line: int) -> None:
        for index in np.flatnonzero((counts != self.column_count) & (counts != 0))[:1]:
            records = block.split(b"\n")
            number = first_line + int(index) + sum(map(lines_in, records[:index]))
            raise self.uneven(number, int(counts[index]), lines_in(records[index]))

    def uneven(self, number: int, cell_count: int, break_count: int = 0) -> BadInput:
        """Return the error for a record with another number of cells.

        `break_count`: line breaks in its quoted cells.
        """
        problem = f"{cell_count} columns, not {self.column_count} (separated by {self.separator})"
        if break_count:
            last = number + break_count
            problem += f"; a quote joins lines {number} to {last}"
        return self.file.complaint(problem, "give every line the same columns", number)


def layout_of(
    file: InputFile,
    na: tuple[str, ...] = (),
    wanted: tuple[str, ...] = (),
    *,
    reads_commas: bool = False,
    otherwise: Separator | None = None,
) -> CellLayout:
    """Detect the layout from the first lines; `na`: texts for a missing number.

    The first line is a header if most columns with a number in the second line have a word in the
    first, or if it has one of the words `wanted`, names of columns that the user gave.
    `reads_commas`: whether to detect decimal commas; ids of text keep theirs. `otherwise`: the
    separator if the first line has none, by default white space.
    Raises `BadInput` if the file has only comments or a header.
    """
    filled = ((number, line) for number, line in Records(file).lines() if line.strip())
    content = ((number, line) for number, line in filled if not line.startswith(COMMENT_MARKS))
    lines = list(islice(content, 2))
    if not lines:
        raise file.complaint("no line holds data", "give a file with data")
    separator = Separator.in_line(lines[0][1])
    if separator.text is None and otherwise is not None:
        separator = otherwise
    commas = DecimalCommas.of(file, separator) if reads_commas else None
    rows = [separator.split(_with_points(line, commas)) for _, line in lines]
    if not _has_header(rows, na, wanted):
        return CellLayout(file, separator, len(rows[0]), None, lines[0][0], commas)
    if len(rows) == 1:
        raise file.complaint("no row follows the header", "give a file with data", lines[0][0])
    return CellLayout(file, separator, len(rows[0]), tuple(rows[0]), lines[1][0], commas)


def _with_points(line: str, commas: DecimalCommas | None) -> str:
    return line if commas is None else commas.in_line(line)


def _has_header(rows: list[list[str]], na: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    if any(cell in wanted and not is_number(cell) for cell in rows[0]):
        return True
    words = [not _is_numeric(cell) and cell != "" and cell not in na for cell in rows[0]]
    if len(rows) == 1:
        return all(words)
    named = zip(rows[0], rows[1], strict=False)  # pandas' index has no name.
    filled = [name != "" and _is_numeric(cell) for name, cell in named]
    changes = sum(word and value for word, value in zip(words, filled, strict=False))
    return 2 * changes > sum(filled)


def _is_numeric(cell: str) -> bool:
    """Whether it is a number with a decimal point or comma."""
    return is_number(cell) or is_number(cell.replace(",", "."))
