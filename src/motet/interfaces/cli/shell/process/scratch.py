"""The temporary folder of a command, and the removal of abandoned ones.

A command holds a lock on its folder while any of its processes runs. A command that was killed with
SIGKILL does not remove its folder; the next command does.
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
# Ray's sockets lie in the folder, and the path of a socket has at most 107 bytes.
LONGEST_PARENT = 20


def make_scratch() -> Path:
    """Create a folder that is locked until this process and its forks have ended."""
    parent = _parent()
    _remove_abandoned(parent)
    while True:
        scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        descriptor = os.open(scratch / LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if (scratch / LOCK_NAME).exists():  # else another command removed it before the lock
            return scratch
        os.close(descriptor)


def _remove_abandoned(parent: Path) -> None:
    for lock in parent.glob(f"{PREFIX}*/{LOCK_NAME}"):
        with contextlib.suppress(OSError):  # owned by another user, in use, or just removed
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
