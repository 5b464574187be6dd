"""Databases that other users of the machine cannot read."""

from __future__ import annotations

import os
from pathlib import Path


def close_to_others(database: Path) -> Path:
    """Create a SQLite database for its owner alone, or close one that exists; returns it.

    SQLite gives its write-ahead log the mode of the database. Raises OSError.
    """
    os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    for each in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
        if each.exists():
            each.chmod(0o600)
    return database
