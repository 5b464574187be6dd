"""What a command is waiting for, on a terminal and elsewhere."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from motet.interfaces.cli.shell.streams.busy_line import busy_line


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("stream", "is_shown"), [(Terminal(), True), (StringIO(), False)])
def test_the_line_is_shown_where_lines_can_be_redrawn(
    stream: StringIO, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with busy_line("simulating the queue"):
        pass
    assert ("simulating the queue" in stream.getvalue()) == is_shown
