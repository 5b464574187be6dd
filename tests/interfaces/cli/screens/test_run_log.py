"""The log of a run: its file is opened by `begin` only."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import JobFailed
from motet.interfaces.cli.screens.run_log import RunLog


def texts(path: Path) -> list[str]:
    """The lines without date and time."""
    return [line.split(" ", 2)[2] for line in path.read_text().splitlines()]


def test_earlier_lines_are_written_when_the_run_begins(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("2000-01-01 00:00:00 an earlier run\n")
    with RunLog(path) as log:
        log.line("reading")
        assert texts(path) == ["an earlier run"]
        log.begin()
        log.remark("training")

    assert texts(path) == ["an earlier run", "reading", "training"]


def test_a_refused_command_leaves_no_file(tmp_path: Path) -> None:
    with RunLog(tmp_path / "log.txt") as log:
        log.line("reading")

    assert list(tmp_path.iterdir()) == []


def fail_during_a_run(path: Path) -> None:
    with RunLog(path) as log:
        log.begin()
        raise ValueError("broken")


def test_a_failure_is_the_last_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="broken"):
        fail_during_a_run(tmp_path / "log.txt")

    assert texts(tmp_path / "log.txt") == ["failed: broken"]


def test_lines_and_remarks_are_echoed_apart() -> None:
    lines: list[str] = []
    remarks: list[str] = []
    log = RunLog(None, lines.append, remarks.append)
    log.line("a step")
    log.remark("a note")

    assert (lines, remarks) == (["a step"], ["a note"])


def test_a_full_disk_names_the_file_and_does_not_replace_the_error_of_the_run() -> None:
    full = Path("/dev/full")
    log = RunLog(full)
    log.begin()
    with pytest.raises(
        JobFailed, match=r"/dev/full: cannot be written \(No space left on device\); free "
    ):
        log.line("a step")
    with pytest.raises(ValueError, match="broken"):
        fail_during_a_run(full)
