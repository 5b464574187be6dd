"""Data for standard output: as they are in a file or pipe, without commands on a terminal."""

from __future__ import annotations

import codecs
import re
import sys
from pathlib import Path
from typing import Protocol

from motet.interfaces.cli.shell.streams.visible import visible_text

_COLOUR = re.compile("(\x1b\\[[0-9;:]{0,40}m)")
_PART_OF_COLOUR = re.compile("\x1b(\\[[0-9;:]{0,40})?\\Z")
_OVERWRITING = re.compile("([\r\b]+)")
_NO_COLOUR = "\x1b[0m"


class Writer(Protocol):
    """Takes text."""

    def write(self, text: str, /) -> object:
        """Take some text."""


class _VisibleOutput:
    def write(self, text: str, /) -> object:
        return sys.stdout.write(visible_text(text))


def is_stdout(path: Path) -> bool:
    """Whether an option names standard output, `-`. The file with that name in the working folder
    is `$PWD/-`."""
    return str(path) == "-"


def data_output() -> Writer:
    """Standard output for data of users, such as CSV."""
    return _VisibleOutput() if sys.stdout.isatty() else sys.stdout


class LogFilter:
    r"""Makes the output of programs safe for a terminal, piece by piece.

    Colours, \r and \b stay, which progress bars use. Other control characters and escape sequences
    could change the terminal's title, move the cursor or make the terminal send input.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""
        self._has_colour = False

    def text(self, data: bytes) -> str:
        """What to print of the next bytes."""
        text = self._rest + self._decoder.decode(data)
        part = _PART_OF_COLOUR.search(text)
        self._rest = "" if part is None else part[0]
        return self._filtered(text.removesuffix(self._rest))

    def end(self) -> str:
        """What is left to print, and the end of all colours."""
        text = self._filtered(self._rest + self._decoder.decode(b"", final=True))
        return text + (_NO_COLOUR if self._has_colour else "")

    def _filtered(self, text: str) -> str:
        parts = _COLOUR.split(text)
        self._has_colour |= len(parts) > 1
        parts[::2] = map(_without_commands, parts[::2])
        return "".join(parts)


def _without_commands(text: str) -> str:
    parts = _OVERWRITING.split(text)
    parts[::2] = map(visible_text, parts[::2])
    return "".join(parts)
