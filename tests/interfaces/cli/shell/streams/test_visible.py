"""Control characters of users' data are shown, never obeyed."""

from __future__ import annotations

import io

import pytest
from rich.table import Table

from motet.domain.errors import BadInput
from motet.interfaces.cli.shell.exits import LONGEST_MESSAGE, exit_code_of
from motet.interfaces.cli.shell.streams.results import print_result
from motet.interfaces.cli.shell.streams.safe_console import SafeConsole
from motet.interfaces.cli.shell.streams.visible import visible_text

ODD = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x00\u202e"


def _has_control(text: str) -> bool:
    return any((ord(letter) < 32 and letter != "\n") or 127 <= ord(letter) < 160 for letter in text)


def test_controls_become_escapes_and_other_text_stays() -> None:
    assert visible_text("a\x1b[2Jb\x9b\u202e\ud800") == r"a\x1b[2Jb\x9b\u202e\ud800"
    assert visible_text("Größe\n日本 \\x1b\t✓") == "Größe\n日本 \\x1b\t✓"


def test_an_error_message_has_no_controls(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        raise BadInput(f"{ODD}: no such job")

    assert exit_code_of(command) == 2
    message = capsys.readouterr().err
    assert not _has_control(message)
    assert "no such job" in message


@pytest.mark.parametrize("length", [400, 600, 100_000])
def test_long_messages_lose_their_middle(capsys: pytest.CaptureFixture[str], length: int) -> None:
    def command() -> None:
        raise BadInput(f"first {'x' * length} last")

    exit_code_of(command)
    message = capsys.readouterr().err.removesuffix("\n")
    assert len(message) <= LONGEST_MESSAGE
    assert message.startswith("motet: error: first ")
    assert message.endswith(" last")
    assert (" ... " in message) == (length > 450)


@pytest.mark.parametrize("odd", [ODD, "[/red]", "[bold]", ":smile:"])
def test_a_table_shows_cells_as_they_are(capsys: pytest.CaptureFixture[str], odd: str) -> None:
    table = Table()
    table.add_column("job")
    table.add_row(odd)
    print_result(table)
    printed = capsys.readouterr().out
    assert not _has_control(printed)
    assert "[2J" in printed or odd in printed


def test_a_terminal_gets_styles_and_no_other_escapes() -> None:
    stream = io.StringIO()
    console = SafeConsole(file=stream, force_terminal=True, color_system="standard", width=200)
    console.print(ODD, style="red")
    assert stream.getvalue().replace("\x1b[31m", "").replace("\x1b[0m", "").count("\x1b") == 0
    assert r"\x1b]0;owned" in stream.getvalue()
