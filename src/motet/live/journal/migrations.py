"""Migrations of a journal to later formats: numbered steps forward, and a copy of what was before.

Records are never altered: what a later format adds is missing in them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, inspect

from motet.domain.errors import BadInput
from motet.live.journal.tables import FORMAT_VERSION

MIGRATIONS: Mapping[int, Sequence[str]] = {
    2: ("ALTER TABLE records ADD COLUMN checksum VARCHAR(64)",),
    3: ("ALTER TABLE records ADD COLUMN decision TEXT",),
    4: (),  # Later records are written otherwise; the earlier ones stay.
}
"""Statements that lead to a format from the one before."""


def require_known(format_version: int) -> None:
    """Raises BadInput for the format of a later version."""
    if format_version > FORMAT_VERSION:
        raise BadInput(
            f"the journal has format {format_version}; this version of Motet reads up to "
            f"{FORMAT_VERSION}: use the version that wrote it, or a later one"
        )


def migrate(connection: Connection, format_version: int) -> None:
    """Lead the tables from a format to the present one, inside the caller's transaction.

    In PostgreSQL the tables are copied first, to `records_format_N` and `journal_format_N`.
    """
    if format_version < FORMAT_VERSION and connection.dialect.name == "postgresql":
        for table in ("records", "journal"):
            copy = f"{table}_format_{format_version}"
            if not inspect(connection).has_table(copy):
                connection.exec_driver_sql(f"CREATE TABLE {copy} AS TABLE {table}")
    for version in range(format_version + 1, FORMAT_VERSION + 1):
        for statement in MIGRATIONS[version]:
            connection.exec_driver_sql(statement)


def copy_before_migration(journal: Path) -> Path | None:
    """Copy a SQLite journal of an earlier format beside it; returns the copy.

    None: there is none, or it has the present format. The caller holds the journal's lock. Raises
    BadInput if the copy cannot be written; a damaged journal is left to its reader.
    """
    if not journal.is_file():
        return None
    found = _format_of(journal)
    if found is None or found >= FORMAT_VERSION:
        return None
    copy = journal.with_name(f"{journal.name}.format-{found}")
    partial = copy.with_name(f"{copy.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with (
            closing(opened_to_read(journal)) as source,
            closing(sqlite3.connect(partial)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        _synchronise(partial)
        partial.replace(copy)
        _synchronise(copy.parent)
    except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
        with suppress(OSError):
            partial.unlink()
        raise BadInput(
            f"{copy}: the copy of the journal before its migration to format {FORMAT_VERSION} "
            f"cannot be written ({error}); make room, or start the version that wrote the journal"
        ) from error
    return copy


def _format_of(journal: Path) -> int | None:
    damages = (sqlite3.Error, UnicodeDecodeError)
    with suppress(*damages), closing(opened_to_read(journal)) as connection:
        found = connection.execute("SELECT format_version FROM journal").fetchone()
        if found is not None and isinstance(found[0], int) and found[0] >= 1:
            return found[0]
    return None


def opened_to_read(database: Path) -> sqlite3.Connection:
    """A connection to a file of SQLite that writes nothing; the caller closes it."""
    return sqlite3.connect(f"file:{quote(os.fsencode(database))}?mode=ro", 60, uri=True)


def _synchronise(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
