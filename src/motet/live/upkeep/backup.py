"""Backups of a journal in SQLite while its master writes it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from motet.domain.errors import BadInput, JobFailed
from motet.live.journal.migrations import opened_to_read
from motet.live.journal.reading import JournalReader
from motet.live.journal.tables import JournalDamaged

_OF_TARGET = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
    }
)
"""Errors of the file that is written: the one that is read is opened for reading only."""


def back_up(journal: Path, target: Path) -> int:
    """Copy a journal, with users and the audit log, into one new file; returns its records.

    The copy is of one moment: SQLite's backup in a single step reads one snapshot, and a writer
    in WAL mode goes on. Every checksum of the copy is verified before the file gets its name. The
    file is closed to other users. Raises BadInput, JournalDamaged, JobFailed as on a full disk.
    """
    if not journal.is_file():
        raise BadInput(
            f"{journal}: there is no journal; give --state-dir, or --database as to the server "
            "(pg_dump copies one in PostgreSQL)"
        )
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        copy_database(journal, temporary)
        count = verified_records(temporary)
        os.link(temporary, target)
        make_durable(target)
    except FileExistsError as error:
        raise BadInput(f"{target}: exists; name a new file") from error
    except OSError as error:
        raise BadInput(f"{target}: cannot be written ({error.strerror})") from error
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
    return count


def copy_database(source: Path, target: Path) -> None:
    """Copy a SQLite database into a file that holds all of it (no write-ahead log).

    Raises JournalDamaged, and JobFailed if the file cannot be written.
    """
    try:
        with (
            closing(opened_to_read(source)) as reading,
            closing(sqlite3.connect(target)) as writing,
        ):
            reading.backup(writing)
            writing.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) in _OF_TARGET:
            raise JobFailed(
                f"{target}: cannot be written ({error}); free some space in {target.parent}"
            ) from error
        raise JournalDamaged(f"the journal {source}", error) from error


def verified_records(journal: Path) -> int:
    """The number of records. Raises JournalDamaged for one whose checksum is wrong."""
    with JournalReader(str(journal)) as reader:
        return sum(1 for _ in reader.records())


def make_durable(path: Path) -> None:
    """Wait until a file and its name are on the disk."""
    for each, flags in ((path, os.O_RDONLY), (path.parent, os.O_RDONLY | os.O_DIRECTORY)):
        descriptor = os.open(each, flags)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
