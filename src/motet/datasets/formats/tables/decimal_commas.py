"""Decimal commas, as spreadsheets write them in much of Europe: `1,5;2,25`.

They are read in tables whose separator is `;` or a tab, where a comma cannot separate cells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from motet.datasets.files import InputFile
from motet.datasets.formats.tables.separator import Separator

NOTE = "decimal commas are read as points: 1,5 is 1.5"
SEPARATORS = (";", "\t")
"""Those beside which a comma cannot separate cells."""
_PERHAPS_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def clearer_forms(cell: str) -> str | None:
    """Return the two numbers that a cell may mean whose comma separates thousands or decimals."""
    if _PERHAPS_THOUSANDS.fullmatch(cell.strip()) is None:
        return None
    return f"{cell.strip().replace(',', '.')} or {cell.strip().replace(',', '')}"


@dataclass(frozen=True)
class DecimalCommas:
    """Replaces the comma of every cell that is a number with a decimal comma."""

    separator: str

    @classmethod
    def of(cls, file: InputFile, separator: Separator) -> DecimalCommas | None:
        """Detect them in the beginning of a file; None if it has none.

        None, too, if each of them may as well separate thousands: such cells are no numbers.
        """
        if separator.text not in SEPARATORS:
            return None
        return cls.in_cells(cls(separator.text).cells(file.head.lines), separator)

    @classmethod
    def in_cells(cls, cells: Sequence[str], separator: Separator) -> DecimalCommas | None:
        """The same in cells of a column."""
        if separator.text not in SEPARATORS:
            return None
        commas = cls(separator.text)
        found = commas.cells(cells)
        return None if all(map(_PERHAPS_THOUSANDS.fullmatch, found)) else commas

    def cells(self, lines: Sequence[str]) -> list[str]:
        """Return the numbers with a decimal comma."""
        matches = (match for line in lines for match in self._in_text.finditer(line))
        return [match[0].strip(' "') for match in matches]

    def in_line(self, line: str) -> str:
        """Return a line with points."""
        return self._in_text.sub(r"\1.\2", line)

    def in_block(self, block: bytes) -> bytes:
        """Return a block of lines with points."""
        return self._in_bytes.sub(rb"\1.\2", block)

    @cached_property
    def _in_text(self) -> re.Pattern[str]:
        return re.compile(self._pattern, re.MULTILINE)

    @cached_property
    def _in_bytes(self) -> re.Pattern[bytes]:
        return re.compile(self._pattern.encode(), re.MULTILINE)

    @property
    def _pattern(self) -> str:
        number = r'([ "]*[+-]?[0-9]*),([0-9]+(?:[eE][+-]?[0-9]+)?[ "]*)'
        return rf"(?:(?<={self.separator})|^){number}(?={self.separator}|\r?$)"
