"""What a command is waiting for, on a terminal and elsewhere."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from motet.interfaces.cli.shell.streams.busy_line import busy_line, changing_line


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


def test_the_text_of_a_line_changes_and_shows_no_control_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with changing_line("simulating the queue") as change:
        assert change is not None
        change("simulating 3 jobs [red]\x07")
    assert "simulating 3 jobs [red]\\x07" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", StringIO())
    with changing_line("simulating the queue") as change:
        assert change is None
