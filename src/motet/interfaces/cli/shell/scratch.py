"""The temporary folder of one command, and the removal of those whose command was killed.

A command holds a lock on its folder as long as one of its processes lives. Whoever was killed with
SIGKILL could not remove its folder; the next command does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "motet-"
LOCK_NAME = "lock"
# Ray's sockets lie in the folder, and a socket's path has at most 107 bytes.
LONGEST_PARENT = 20


def make_scratch() -> Path:
    """A new folder, locked until this process and its forks have ended."""
    parent = _parent()
    _remove_abandoned(parent)
    while True:
        scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        descriptor = os.open(scratch / LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if (scratch / LOCK_NAME).exists():  # else another command was faster and removed it
            return scratch
        os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    for lock in parent.glob(f"{PREFIX}*/{LOCK_NAME}"):
        with contextlib.suppress(OSError):  # somebody else's, in use, or gone just now
            descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if lock.parent.stat().st_uid == os.getuid():
                    shutil.rmtree(lock.parent, ignore_errors=True)
            finally:
                os.close(descriptor)


def _parent() -> Path:
    folder = tempfile.gettempdir()
    return Path(folder if len(folder) <= LONGEST_PARENT else "/tmp")
