"""What a server writes down of its last look at the logs."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from motet.live.upkeep.log_look import LogLook


def test_a_look_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert LogLook.read(tmp_path) == LogLook()
    look = LogLook(5, frozenset({(1, 1), (7, 2)}), 4_000_000)
    look.write(tmp_path)
    assert LogLook.read(tmp_path) == look
    assert [path.name for path in tmp_path.iterdir()] == ["log-look.json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"at_us": 1, "running": [1], "limit_bytes": 1}',
        '{"at_us": Infinity, "running": [], "limit_bytes": 1}',
        '{"at_us": 9223372036854775808, "running": [], "limit_bytes": 1}',
        '{"at_us": -1, "running": [], "limit_bytes": 1}',
        '{"at_us": 1, "running": [[1, 1e400]], "limit_bytes": 1}',
    ],
)
def test_a_damaged_look_is_logged_and_counts_as_none(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "log-look.json").write_text(content)
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        assert LogLook.read(tmp_path) == LogLook()
    assert [record.getMessage() for record in caplog.records] == ["log_look_unreadable"]
    assert reasons(caplog) != [""]


def test_a_look_that_cannot_be_written_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        assert not LogLook(5).write(tmp_path / "gone")
        assert not LogLook(5).write(tmp_path / "gone", is_told=False)
    assert [record.getMessage() for record in caplog.records] == ["log_look_unwritten"]
    assert "No such file" in reasons(caplog)[0]


def test_a_look_that_cannot_be_written_nor_removed_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ".log-look.json.new").mkdir()
    with caplog.at_level(logging.WARNING, "motet.upkeep"):
        assert not LogLook(5).write(tmp_path)
    assert "Is a directory" in reasons(caplog)[0]


def test_what_another_server_left_of_its_look_is_replaced(tmp_path: Path) -> None:
    (tmp_path / ".log-look.json.new").write_text("{")
    assert LogLook(5).write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["log-look.json"]


@pytest.mark.parametrize(("limit_bytes", "at_us"), [(3, 0), (4, 5), (5, 5)])
def test_a_lower_limit_makes_the_next_look_go_on_from_nothing(limit_bytes: int, at_us: int) -> None:
    assert LogLook(5, limit_bytes=4).for_limit(limit_bytes).at_us == at_us


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Why, as the events tell."""
    return [record.__dict__["fields"]["reason"] for record in caplog.records]
