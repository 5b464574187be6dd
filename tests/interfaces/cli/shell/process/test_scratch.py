"""The temporary folder of a command, and the removal of abandoned ones."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.interfaces.cli.shell.process.scratch import LOCK_NAME, PREFIX, make_scratch


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short path, as sockets of Ray need it."""
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def test_a_new_folder_is_locked(parent: Path) -> None:
    scratch = make_scratch()
    descriptor = os.open(scratch / LOCK_NAME, os.O_RDWR)

    assert scratch.parent == parent
    with pytest.raises(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)


def test_an_abandoned_folder_is_removed_and_others_stay(parent: Path) -> None:
    abandoned, unrelated = parent / f"{PREFIX}abandoned", parent / "unrelated"
    for folder in (abandoned, unrelated):
        folder.mkdir()
        (folder / LOCK_NAME).touch()
    used = make_scratch()
    new = make_scratch()

    assert not abandoned.exists()
    assert unrelated.exists()
    assert used.exists()
    assert new.exists()
