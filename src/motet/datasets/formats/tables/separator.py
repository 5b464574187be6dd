"""Separators of cells: detection, splitting and counting."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_CANDIDATES = (b"::", b"\t", b",", b";", b"|")
_UNIT_SEPARATOR = b"\x1f"
BREAK = "\x1e"
"""Replaces a line break inside a quoted cell, so that a record is one line."""
_FIELD_LIMIT = 2**31 - 1
_QUOTED = re.compile(r'(?:(?<=[,\t;|])|^)"[^"]*(?:""[^"]*)*"')
_BLANKS = re.compile("[\\x00-\\x20]+")
_SPACE, _NEWLINE = 32, 10


@dataclass(frozen=True)
class Separator:
    """The separator of two cells: `text`, or any white space if it is None."""

    text: str | None

    @classmethod
    def in_line(cls, line: str) -> Separator:
        """Detect the separator of a line: the first of `::`, tab, comma, `;`, `|` in it.

        Characters inside quoted cells do not count.
        """
        unquoted = _QUOTED.sub('""', line)
        for candidate in _CANDIDATES:
            if candidate.decode() in unquoted:
                return cls(candidate.decode())
        return cls(None)

    def __str__(self) -> str:
        names = {None: "white space", "\t": "tabs", ",": "commas"}
        return names.get(self.text, repr(self.text))

    def split(self, line: str) -> list[str]:
        """Return the cells of a line, without quotes and surrounding blanks."""
        if self.text is None:
            return [cell.strip('"') for cell in _BLANKS.split(line) if cell]
        if len(self.text) > 1 or '"' not in line:
            return [cell.strip() for cell in line.split(self.text)]
        return [cell.strip() for cell in _quoted_cells(line, self.text)]

    def cell_counts(self, block: bytes) -> NDArray[np.int64]:
        """Return the number of cells in every line of a block (lines,); 0 for a blank line."""
        if self.text is not None and b'"' in block:
            lines = block.decode("utf-8", "replace").split("\n")
            return np.array([len(self.split(line)) if line.strip() else 0 for line in lines])
        text = np.frombuffer(block + b"\n", dtype=np.uint8)
        ends = np.flatnonzero(text == _NEWLINE)
        is_blank = text <= _SPACE
        starts = np.flatnonzero(~is_blank & np.concatenate([[True], is_blank[:-1]]))
        token_counts = np.diff(np.searchsorted(starts, ends), prepend=0)
        if self.text is None:
            return token_counts
        mark_counts = np.diff(np.searchsorted(_places(block, self.text.encode()), ends), prepend=0)
        return np.where((token_counts > 0) | (mark_counts > 0), mark_counts + 1, 0)

    def as_single_character(self, block: bytes) -> bytes:
        """Return the block with a separator for NumPy's reader (`::` becomes a unit separator)."""
        if self.text is None or len(self.text) == 1:
            return block
        return block.replace(self.text.encode(), _UNIT_SEPARATOR)

    @property
    def delimiter(self) -> str | None:
        """The separator after `as_single_character`."""
        return (
            _UNIT_SEPARATOR.decode() if self.text is not None and len(self.text) > 1 else self.text
        )


def _quoted_cells(line: str, separator: str) -> list[str]:
    csv.field_size_limit(_FIELD_LIMIT)  # A cell can hold the text of a whole document.
    try:
        cells = next(csv.reader([line], delimiter=separator), [])
        return [cell.replace(BREAK, "\n") for cell in cells]
    except csv.Error:  # a carriage return inside a line, for example
        return line.split(separator)


def _places(block: bytes, mark: bytes) -> NDArray[np.intp]:
    """Return the positions of the mark, ascending."""
    if len(mark) == 1:
        return np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == mark[0])
    return np.array([match.start() for match in re.finditer(re.escape(mark), block)], dtype=np.intp)
