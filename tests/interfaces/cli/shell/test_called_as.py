"""Commands in the output can be copied as they stand."""

from __future__ import annotations

import pytest

from motet.interfaces.cli.shell.called_as import called_as


@pytest.mark.parametrize(
    ("program", "on_path", "shown"),
    [
        (".venv/bin/motet", None, ".venv/bin/motet"),
        (".venv/bin/motet", "/usr/bin/motet", ".venv/bin/motet"),
        ("/opt/motet/bin/motet", "/opt/motet/bin/motet", "motet"),
        ("src/motet/interfaces/cli/__main__.py", None, "motet"),
    ],
)
def test_the_program_is_named_as_the_shell_finds_it(
    program: str, on_path: str | None, shown: str
) -> None:
    assert called_as(program, on_path) == shown
