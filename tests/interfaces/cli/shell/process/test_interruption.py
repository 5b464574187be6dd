"""What an interruption leaves behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from motet.interfaces.cli.shell.process.interruption import (
    Hint,
    carry_out_interruption,
    forget_interruption,
    prepare_interruption,
)


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_file_is_replaced_and_the_line_returned(scratch: Path, tmp_path: Path) -> None:
    record = tmp_path / "run.json"
    record.write_text("old")
    prepare_interruption(Hint("first"), {record: "1"})
    prepare_interruption(Hint("continue with: x"), {record: "2", tmp_path / "auto.csv": "3"})
    assert record.read_text() == "old"
    assert carry_out_interruption(scratch) == "continue with: x"
    assert record.read_text() == "2"
    assert (tmp_path / "auto.csv").read_text() == "3"


def test_the_line_depends_on_what_is_saved_at_the_end(scratch: Path, tmp_path: Path) -> None:
    saved = tmp_path / "checkpoints" / "epoch-*"
    prepare_interruption(Hint("continue with: x", str(saved), "nothing saved"), {})
    assert carry_out_interruption(scratch) == "nothing saved"
    saved.with_name("epoch-1").mkdir(parents=True)
    assert carry_out_interruption(scratch) == "continue with: x"


def test_nothing_is_left_once_results_are_written(scratch: Path, tmp_path: Path) -> None:
    forget_interruption()
    prepare_interruption(Hint("continue with: x"), {tmp_path / "run.json": "{}"})
    forget_interruption()
    assert carry_out_interruption(scratch) == ""
    assert not (tmp_path / "run.json").exists()


def test_a_folder_that_is_gone_is_no_second_failure(scratch: Path, tmp_path: Path) -> None:
    prepare_interruption(Hint("continue with: x"), {tmp_path / "gone" / "run.json": "{}"})
    assert carry_out_interruption(scratch) == ""
    (scratch / "interruption.json").write_text("[]")
    assert carry_out_interruption(scratch) == ""
