"""Data of users and output of programs on a terminal."""

from __future__ import annotations

import re
import sys
from io import StringIO
from random import Random

import pytest

from motet.interfaces.cli.shell.streams.terminal_output import LogFilter, data_output

PIECES = (
    *(b"plain ", b"\x1b[1;31m", b"\x1b[0m", b"\x1b", b"[2J", b"\x1b]0;t\x07", b"\x1b[6n", b"\x1bc"),
    *(b"\x9b", b"\xc2\x9b31m", b"\xe2\x80\xae", b"\xff", b"\xc3", b"\xa9", b"\r", b"\n", b"\t"),
    *(b"\b", b"\0", b"\x7f", b"m", b"1;", b"\x1b[" + b"1" * 60 + b"m", "é€🙂".encode()),
)
SAFE = re.compile("(?:[^\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]|[\r\b]|\x1b\\[[0-9;:]*m)*")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def filtered(*parts: bytes) -> str:
    log_filter = LogFilter()
    return "".join([*map(log_filter.text, parts), log_filter.end()])


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"50 %\r60 %\b\b\n", "50 %\r60 %\b\b\n"),
        (b"\x1b[1;31mred", "\x1b[1;31mred\x1b[0m"),
        (b"\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        (b"\x1b[2J\x1b[6n", "\\x1b[2J\\x1b[6n"),
        (b"\xc2\x9b2J", "\\x9b2J"),
        (b"\xff\xe2\x82", "\ufffd\ufffd"),
        (b"end\x1b[", "end\\x1b["),
    ],
)
def test_commands_to_the_terminal_are_shown(data: bytes, shown: str) -> None:
    assert filtered(data) == shown


def test_no_way_to_cut_the_output_lets_a_command_pass() -> None:
    random = Random(1)
    for _ in range(2000):
        data = b"".join(random.choices(PIECES, k=random.randint(1, 12)))
        cuts = sorted(random.choices(range(len(data) + 1), k=random.randint(0, 4)))
        parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert filtered(*parts) == filtered(data)
        assert SAFE.fullmatch(filtered(data)), data


def test_data_are_changed_only_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, written in ((StringIO(), "\x1b[2J,a\n"), (Terminal(), "\\x1b[2J,a\n")):
        monkeypatch.setattr(sys, "stdout", stream)
        data_output().write("\x1b[2J,a\n")
        assert stream.getvalue() == written
