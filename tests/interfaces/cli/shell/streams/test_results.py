"""Results on a stdout that is no terminal."""

from __future__ import annotations

import pytest
from rich.text import Text

from motet.interfaces.cli.shell.streams.results import PLAIN_WIDTH, print_result

WORDS = Text("many words " * 50)


@pytest.mark.parametrize(
    ("columns", "width"), [("60", 60), ("180", 180), (None, PLAIN_WIDTH), ("wide", PLAIN_WIDTH)]
)
def test_the_line_width_follows_the_environment(
    columns: str | None,
    width: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    print_result(WORDS)
    longest = max(map(len, capsys.readouterr().out.splitlines()))

    assert width - len("many words ") < longest <= width
