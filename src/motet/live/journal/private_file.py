"""Files that other users of the machine cannot read: databases, and the locks of their users."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)


def locked_file(path: Path) -> int | None:
    """A descriptor with the lock (flock) of a file, which is created, until it is closed; None:
    another process has it. Raises OSError: no file or no lock can be had there."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        if error.errno not in _HELD:
            raise
        return None
    return lock


def close_to_others(database: Path) -> Path:
    """Create a SQLite database for its owner alone, or close one that exists; returns it.

    SQLite gives its write-ahead log the mode of the database. Raises OSError.
    """
    os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for each in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
        if each.exists():
            each.chmod(0o600)
    return database
