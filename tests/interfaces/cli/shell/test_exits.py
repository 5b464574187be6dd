"""What a command raises decides its exit code and the one line on stderr."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from motet.domain.errors import BadInput, JobFailed, Unreachable
from motet.interfaces.cli.shell.exits import exit_code_of
from soak_cases import others_in_soak

SUBMIT = click.Context(
    click.Command("submit", params=[click.Option(["--processes"])]), info_name="submit"
)
DESCRIBE = click.Context(
    click.Command("describe", params=[click.Argument(["file"])]), info_name="describe"
)


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
        (
            click.NoSuchOption("--gpus", possibilities=["--cpus"], ctx=SUBMIT),
            2,
            "no such option --gpus; did you mean --processes? see 'submit --help'",
        ),
        (
            click.NoSuchOption("--trace", possibilities=["--seed"], ctx=DESCRIBE),
            2,
            "no such option --trace; give FILE without an option; see 'describe --help'",
        ),
        (click.NoSuchOption("--blah", possibilities=["--na"]), 2, "no such option --blah"),
        (
            OSError(errno.ENOSPC, "No space left on device", "o/model.npz"),
            1,
            "o/model.npz: cannot be written (No space left on device); free some space",
        ),
        (
            OSError(errno.EFBIG, "File too large", "o/model.npz"),
            1,
            "o/model.npz: cannot be written (File too large); raise the limit on the size of files "
            "(ulimit -f)",
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


@pytest.mark.parametrize(
    "command",
    others_in_soak([["app", "list"], ["app", "list", "--json"], ["--help"]], [["app", "list"]]),
)
def test_a_full_standard_output_is_one_line(command: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "motet.interfaces.cli", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr == (
        "motet: error: cannot write to standard output (No space left on device); "
        "the result is not complete\n"
    )


@pytest.mark.soak
@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["policy", "list", "--json"],
        ["simulate", "--trace", "tiresias-480", "--cluster", "15x4", "--policy", "fifo", "--json"],
    ],
    ids=" ".join,
)
def test_a_reader_that_ends_early_is_told_by_the_exit_code_alone(command: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "motet.interfaces.cli", *command],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)

    assert (ended.returncode, ended.stderr) == (141, "")
