"""Locks on files for their owner alone."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from motet.live.journal.private_file import locked_file


def test_a_lock_is_held_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = locked_file(path)
    assert lock is not None
    assert path.stat().st_mode & 0o777 == 0o600
    assert locked_file(path) is None
    os.close(lock)
    again = locked_file(path)
    assert again is not None
    os.close(again)


def test_a_file_system_without_locks_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = set(os.listdir("/proc/self/fd"))

    def refused(file: int, operation: int) -> None:
        del file, operation
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(OSError, match="No locks available"):
        locked_file(tmp_path / "lock")
    assert set(os.listdir("/proc/self/fd")) <= opened
