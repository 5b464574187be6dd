"""Logs that are written through to a shared storage."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from motet.live.launcher import log_sync
from motet.live.launcher.log_sync import LogSync


class Storage:
    """Remembers which files were written through, at which size."""

    def __init__(self) -> None:
        self.written: list[tuple[str, int]] = []
        self.has_failed = False

    def sync(self, descriptor: int) -> None:
        if self.has_failed:
            raise OSError(errno.EIO, "the storage has failed")
        os.fdatasync(descriptor)
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        self.written.append((path.name, os.fstat(descriptor).st_size))


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_only_what_was_added_is_written_through(tmp_path: Path) -> None:
    storage, first, second = Storage(), tmp_path / "first", tmp_path / "second"
    logs = LogSync(lambda: [first, second], storage.sync)
    logs.once()
    add(first, "one")
    logs.once()
    logs.once()
    add(first, "two")
    add(second, "three")
    logs.once()
    logs.once()
    assert storage.written == [("first", 3), ("first", 6), ("second", 5)]


def test_what_could_not_be_written_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage, path = Storage(), tmp_path / "log"
    logs = LogSync(lambda: [path], storage.sync)
    add(path, "line")
    storage.has_failed = True
    logs.once()
    assert "the storage has failed" in caplog.text
    storage.has_failed = False
    logs.once()
    assert storage.written == [("log", 4)]


def test_a_storage_that_does_not_answer_keeps_nobody_else_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_sync, "EVERY_S", 0.01)
    path, is_waiting, answers = tmp_path / "log", threading.Event(), threading.Event()
    add(path, "line")

    def sync(descriptor: int) -> None:
        del descriptor
        is_waiting.set()
        answers.wait()

    LogSync(lambda: [path], sync).start()
    assert is_waiting.wait(60)
    answers.set()
