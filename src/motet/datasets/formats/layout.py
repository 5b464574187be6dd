"""How a file of separated cells is laid out: what CSV tables and rating files share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from motet.datasets.files import InputFile
from motet.datasets.formats.numbers import is_number
from motet.datasets.formats.separator import Separator

COMMENT_MARKS = ("#", "%")
_BLANK_LINE = re.compile(rb"^ +\r?(\n|\Z)", re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """How the lines of a file are made: cells per line, and where the data start.

    `names`: the cells of a header line. `first_line`: number of the first line with data, from 1;
    comment lines (`#`) and the header are before it.
    """

    file: InputFile
    separator: Separator
    column_count: int
    names: tuple[str, ...] | None
    first_line: int

    def data_lines(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of every line with data, with its number in the file."""
        for number, line in self.file.lines():
            if number >= self.first_line and line.strip():
                yield number, self.separator.split(line)

    def line_number(self, row: int) -> int:
        """The line in the file that data row `row` (from 0) came from."""
        numbers = (number for number, _ in self.data_lines())
        return next(number for index, number in enumerate(numbers) if index == row)

    def column_name(self, column: int) -> str:
        """`column 3 'age'`, or `column 3` where the file has no header; from 0."""
        return f"column {column}" + (f" {self.names[column]!r}" if self.names else "")

    def data_blocks(self) -> Iterator[bytes]:
        """The content from `first_line` on in pieces of whole lines.

        Raises `BadInput` for the first line that has another number of cells than the others.
        """
        number = 1
        for block in self.file.blocks():
            skipped = max(0, self.first_line - number)
            data = _without_lines(block, skipped)
            counts = self.separator.cell_counts(data)
            self._require_even(counts, number + skipped)
            number += block.count(b"\n")
            if counts.any():
                yield data if counts.all() else _BLANK_LINE.sub(b"", data)

    def _require_even(self, counts: NDArray[np.int64], first_line: int) -> None:
        for index in np.flatnonzero((counts != self.column_count) & (counts != 0))[:1]:
            raise self.file.complaint(
                f"{counts[index]} columns, not {self.column_count} (separated by {self.separator})",
                "give every line the same columns",
                first_line + int(index),
            )


def _without_lines(block: bytes, count: int) -> bytes:
    start = 0
    for _ in range(count):
        end = block.find(b"\n", start)
        if end < 0:
            return b""
        start = end + 1
    return block[start:]


def layout_of(file: InputFile, na: tuple[str, ...] = ()) -> Layout:
    """Look at the first lines; `na`: texts that stand for a missing number.

    The first line is a header when most columns that hold a number in the second line hold a
    word in the first. Raises `BadInput` when there is nothing but comments or a header.
    """
    filled = ((number, line) for number, line in file.lines() if line.strip())
    content = ((number, line) for number, line in filled if not line.startswith(COMMENT_MARKS))
    lines = list(islice(content, 2))
    if not lines:
        raise file.complaint("no line holds data", "give a file with data")
    separator = Separator.in_line(lines[0][1])
    rows = [separator.split(line) for _, line in lines]
    if not _has_header(rows, na):
        return Layout(file, separator, len(rows[0]), None, lines[0][0])
    if len(rows) == 1:
        raise file.complaint("no row follows the header", "give a file with data", lines[0][0])
    return Layout(file, separator, len(rows[0]), tuple(rows[0]), lines[1][0])


def _has_header(rows: list[list[str]], na: tuple[str, ...]) -> bool:
    words = [not is_number(cell) and cell != "" and cell not in na for cell in rows[0]]
    if len(rows) == 1:
        return all(words)
    filled = [is_number(cell) for cell in rows[1]]
    changes = sum(word and value for word, value in zip(words, filled, strict=False))
    return 2 * changes > sum(filled)
