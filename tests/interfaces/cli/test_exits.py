"""What a command raises decides its exit code and the one line on stderr."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from motet.domain.errors import BadInput, JobFailed, Unreachable
from motet.interfaces.cli.exits import exit_code_of


def raising(error: BaseException) -> object:
    def command() -> None:
        raise error

    return exit_code_of(command)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (BadInput("x.csv:3: rating is nan"), 2, "x.csv:3: rating is nan"),
        (JobFailed("two\nlines"), 1, "two lines"),
        (Unreachable("nobody at a:1"), 5, "nobody at a:1"),
        (
            MemoryError("800 GiB"),
            2,
            "not enough memory (800 GiB); use a smaller model or smaller data",
        ),
        (click.UsageError("Missing option '--data'."), 2, "missing option '--data'"),
        (
            click.NoSuchOption("--dta", possibilities=["--data", "--seed"]),
            2,
            "no such option --dta; did you mean --data?",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_one_line_and_its_exit_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert raising(error) == code
    assert capsys.readouterr() == ("", f"motet: error: {line}\n")


def test_an_unexpected_error_names_the_file_that_holds_its_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert raising(ZeroDivisionError("by zero")) == 1

    (log,) = tmp_path.rglob("motet-error-*.log")
    line = f"motet: error: unexpected ZeroDivisionError: by zero; the details are in {log}\n"
    assert capsys.readouterr().err == line
    assert "Traceback" in log.read_text()


def test_a_command_that_returns_is_a_success() -> None:
    assert exit_code_of(lambda: None) == 0
