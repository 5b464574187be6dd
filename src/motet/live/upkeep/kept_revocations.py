"""What was revoked after a backup stays revoked when the backup is put in force."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_KEYS = {"users": "name", "tokens": "id"}


def keep_revocations(before: Path, restored: sqlite3.Connection) -> int | None:
    """Revoke in a restored journal what the journal before has revoked: how many users and tokens.

    None: it is not there or cannot be read; what was revoked after the backup is valid again.
    """
    if not before.is_file() or not before.stat().st_size:
        return None
    count = 0
    try:
        with closing(sqlite3.connect(before)) as connection:
            for table, key in _KEYS.items():
                if not _has(connection, table) or not _has(restored, table):
                    continue
                wanted = f"SELECT revoked_us, {key} FROM {table} WHERE revoked_us IS NOT NULL"
                update = f"UPDATE {table} SET revoked_us = ? WHERE {key} = ? AND revoked_us IS NULL"
                for row in connection.execute(wanted).fetchall():
                    count += restored.execute(update, row).rowcount
    except sqlite3.DatabaseError:
        return None
    return count


def _has(connection: sqlite3.Connection, table: str) -> bool:
    wanted = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(wanted, (table,)).fetchone() is not None
