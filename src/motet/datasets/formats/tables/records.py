"""Records of a table: lines, except that a line break inside a quoted cell ends none (RFC 4180)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from motet.datasets.files import InputFile
from motet.datasets.formats.tables.separator import BREAK, Separator
from motet.domain.errors import BadInput

_BREAK = BREAK.encode()
_LONGEST_BYTES = 16 << 20
_NO_TEXT = re.compile(rb"[\0\x1e]|\r(?!\r*(?:\n|\Z))")


@dataclass(frozen=True)
class Records:
    """The records of a file as lines of UTF-8 text.

    `BREAK` replaces every line break inside a quoted cell; `Separator.split` restores it. A quote
    opens a cell only at its beginning. `separator`: None before it is known, then a quote
    after any separator of one character opens a cell.
    """

    file: InputFile
    separator: Separator | None = None

    def blocks(self, first_line: int = 1) -> Iterator[tuple[int, bytes]]:
        """Yield blocks of whole records, each with the number of its first line.

        `first_line`: the line where a record starts that is the first to be read.
        Raises `BadInput` for control bytes and for a quote that is not closed.
        """
        number, rest, quoted = 1, b"", self._quoted_cell()
        for block in self.file.text_blocks():
            data = _without_lines(block, max(0, first_line - number)) if not rest else block
            number += block.count(b"\n") - data.count(b"\n")
            _require_text(self.file, data, number + lines_in(rest))
            whole, rest = _whole_records(rest + data, quoted)
            if whole:
                yield number, whole
            number += lines_in(whole)
            if len(rest) > _LONGEST_BYTES:
                raise self._not_closed(number, f" within {_LONGEST_BYTES >> 20} MB")
        if rest:
            raise self._not_closed(number, "")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield every record, without its line end, with the number of its first line."""
        for first_line, block in self.blocks():
            number = first_line
            for line in block.split(b"\n")[: -1 if block.endswith(b"\n") else None]:
                yield number, line.decode("utf-8", "replace").rstrip("\r")
                number += 1 + line.count(_BREAK)

    def _quoted_cell(self) -> re.Pattern[bytes]:
        """Return a pattern of quoted cells; group 1 is the closing quote, empty at the end."""
        known = self.separator
        before = b"[,\t;|]" if known is None else b"[ \t]"
        if known is not None and known.text is not None:
            before = re.escape(known.text.encode())
        return re.compile(rb'(?:(?<=%b)|^)"[^"]*+(?:""[^"]*+)*+("|\Z)' % before, re.MULTILINE)

    def _not_closed(self, number: int, within: str) -> BadInput:
        return self.file.complaint(
            f"a quote is opened and not closed{within}", "close it, or remove it", number
        )


def lines_in(block: bytes) -> int:
    """Return the number of lines of the file that a block of records holds."""
    return block.count(b"\n") + block.count(_BREAK)


def _whole_records(text: bytes, quoted: re.Pattern[bytes]) -> tuple[bytes, bytes]:
    """Split off the last record if a quote in it is still open; replace breaks in quotes."""
    if b'"' not in text:
        return text, b""
    parts: list[bytes] = []
    end = 0
    for cell in quoted.finditer(text):
        if not cell[1]:
            before = b"".join([*parts, text[end : cell.start()]])
            start = before.rfind(b"\n") + 1
            return before[:start], before[start:] + cell[0]
        if b"\n" in cell[0]:
            marked = cell[0].replace(b"\r\n", _BREAK).replace(b"\n", _BREAK)
            parts += [text[end : cell.start()], marked]
            end = cell.end()
    return b"".join([*parts, text[end:]]) if parts else text, b""


def _require_text(file: InputFile, block: bytes, first_line: int) -> None:
    """Refuse control bytes. Raises `BadInput`."""
    wrong = _NO_TEXT.search(block)
    if wrong is not None:
        problem = f"holds the byte {wrong[0]!r} inside a line"
        line = first_line + block.count(b"\n", 0, wrong.start())
        raise file.complaint(problem, "give a text file whose lines end with \\n", line)


def _without_lines(block: bytes, count: int) -> bytes:
    start = 0
    for _ in range(count):
        end = block.find(b"\n", start)
        if end < 0:
            return b""
        start = end + 1
    return block[start:]
