"""What a server writes down of its last look at the logs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from motet.live.upkeep.log_look import LogLook


def test_a_look_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert LogLook.read(tmp_path) == LogLook()
    look = LogLook(5, frozenset({(1, 1), (7, 2)}))
    look.write(tmp_path)
    assert LogLook.read(tmp_path) == look
    assert [path.name for path in tmp_path.iterdir()] == ["log-look.json"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"at_us": 1, "running": [1]}'])
def test_a_damaged_look_is_logged_and_counts_as_none(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "log-look.json").write_text(content)
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        assert LogLook.read(tmp_path) == LogLook()
    assert [record.getMessage() for record in caplog.records] == ["log_look_unreadable"]


def test_a_look_that_cannot_be_written_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        LogLook(5).write(tmp_path / "gone")
    assert [record.getMessage() for record in caplog.records] == ["log_look_unwritten"]
