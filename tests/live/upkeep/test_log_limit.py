"""Logs that are limited while a process writes them, and their readers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from motet.interfaces.server.logs import LogPlace, read_log
from motet.live.master.requests import TrainingProgram, Workplace
from motet.live.upkeep.log_limit import HolesUnsupported, limit_log

LIMIT = 8 << 20
LINE = b"x" * 99 + b"\n"


def written(path: Path, size: int) -> None:
    with path.open("ab") as file:
        for number in range(size // 100):
            file.write(b"%099d\n" % number)


def taken(path: Path) -> int:
    return path.stat().st_blocks * 512


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """In the folder of process 0 of attempt 1 of job 1."""
    path = tmp_path / "attempts" / "1" / "1" / "rank-0" / "log"
    path.parent.mkdir(parents=True)
    return path


def punched(log: Path) -> int:
    try:
        return limit_log(log, LIMIT)
    except HolesUnsupported:
        pytest.skip("this file system has no holes")


def read_all(folder: Path, size: int) -> bytes:
    """As a client that follows the log."""
    workplace = Workplace(folder, {}, TrainingProgram((), {}), 1.0)
    place, parts, offset = LogPlace(1, 1, 0, has_ended=True, ranks=1, began=1, has_run=True), [], 0
    while True:
        part = read_log(workplace, place, offset)
        parts.append(part.data)
        assert part.next_offset > offset or part.is_complete
        offset = part.next_offset
        if part.is_complete:
            assert offset == size
            return b"".join(parts)


def test_beginning_and_end_stay_and_readers_are_told(log: Path, tmp_path: Path) -> None:
    written(log, 5 * LIMIT)
    size, content = log.stat().st_size, log.read_bytes()
    with log.open("ab") as process:  # Open for all of the time, as the log of a process.
        assert punched(log) > 3 * LIMIT
        assert taken(log) <= LIMIT
        assert log.stat().st_size == size
        process.write(LINE)
    found = read_all(tmp_path, size + len(LINE))
    begin, told, end = found.partition(b" bytes of this log were removed: --log-limit]\n")
    assert told
    assert content.startswith(begin.rpartition(b"\n[")[0])
    assert end == (content + LINE)[-len(end) :]
    assert len(end) >= LIMIT // 2
    assert b"\0" not in found


def test_a_log_that_goes_on_is_limited_again(log: Path) -> None:
    for _ in range(4):
        written(log, 2 * LIMIT)
        punched(log)
        assert taken(log) <= LIMIT


def test_small_and_missing_logs_stay_as_they_are(log: Path, tmp_path: Path) -> None:
    written(log, LIMIT // 2)
    content = log.read_bytes()
    assert limit_log(log, LIMIT) == 0
    assert log.read_bytes() == content
    assert limit_log(tmp_path / "nothing", LIMIT) == 0


def test_a_link_is_not_followed(log: Path, tmp_path: Path) -> None:
    """A job could put one in the place of its log."""
    victim = tmp_path / "victim"
    written(victim, 5 * LIMIT)
    os.symlink(victim, log)
    with pytest.raises(OSError, match="symbolic"):
        limit_log(log, LIMIT)
    assert taken(victim) >= 5 * LIMIT


def test_a_log_without_holes_is_read_as_it_is(log: Path, tmp_path: Path) -> None:
    written(log, 3_000_000)
    assert read_all(tmp_path, log.stat().st_size) == log.read_bytes()
