"""Restoring a backup of a journal into a state folder.

The folder may know more than the backup: jobs that were submitted later. Their numbers will be
given again, so what they left must not be taken for that of the new jobs; it is moved aside.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import update

from motet.domain.errors import BadInput
from motet.live.journal.database import JournalDatabase
from motet.live.journal.migrations import opened_to_read
from motet.live.journal.reading import JournalReader
from motet.live.journal.record import Record
from motet.live.journal.tables import META, RECORDS
from motet.live.journal.unknown_folders import numbered_folders, unknown_folders
from motet.live.launcher.leftovers import marked_processes
from motet.live.master.facts import ClusterDeclared
from motet.live.master.replay import ReplayedCluster, declared_by
from motet.live.master.state import LiveState
from motet.live.upkeep.backup import copy_database, make_durable
from motet.live.upkeep.kept_revocations import keep_revocations

MARKER = "restore.incomplete"
"""A server does not start while it is there: journal and folders may not belong together."""
_NAME = "journal.db"
_EPOCHS_BETWEEN = 1000
"""Masters that have begun after the backup, at most: shepherds obey no earlier epoch."""


@dataclass(frozen=True, slots=True)
class Restored:
    """`aside`: the folder with the journal before and with what later jobs left; None: there was
    neither. `revoked`: users and tokens that stay revoked though the backup holds them as valid;
    None: see `keep_revocations`."""

    jobs: int
    aside: Path | None
    revoked: int | None


def restore(backup: Path, folder: Path, journal: Path | None = None) -> Restored:
    """Put a backup in force. `folder`: of the state, whose server has ended. `journal`: where it
    is; None: in the folder.

    It can be repeated after an interruption. Raises BadInput, JournalDamaged, JobFailed as on a
    full disk, and JournalInUse while a server runs.
    """
    if not backup.is_file():
        raise BadInput(f"{backup}: there is no such file")
    _require_journal(backup)
    state = _replayed(str(backup))
    journal = folder / _NAME if journal is None else journal
    with _moving_later_folders(JournalDatabase(str(journal)), folder, state) as later:
        aside = _made_aside(folder)
        revoked = _replace_journal(backup, journal, aside)
        _move(later, folder, aside)
    return Restored(len(state.jobs), aside, revoked)


def adopt(address: str, folder: Path) -> Restored:
    """Put a journal in force that other tools have restored, as `pg_restore` or a copied file.

    `address`: a database URL, or the path of a SQLite file. `folder`: of the state, whose server
    has ended. It can be repeated after an interruption. Raises what `restore` raises.
    """
    database = JournalDatabase(address)
    if database.file is not None and not database.file.is_file():
        raise BadInput(f"{address}: there is no journal; name the FILE of a backup")
    state = _replayed(address)
    with _moving_later_folders(database, folder, state) as later:
        aside = _made_aside(folder) if later else None
        _raise_epoch(database)
        if aside is not None:
            _move(later, folder, aside)
    return Restored(len(state.jobs), aside, None)


@contextmanager
def _moving_later_folders(
    database: JournalDatabase, folder: Path, state: LiveState
) -> Iterator[list[Path]]:
    """Folders that the state does not know, while no server may start on the journal."""
    lock = database.lock()
    try:
        attempts = {number: len(job.attempts) for number, job in state.jobs.items()}
        later = list(unknown_folders(folder, attempts))
        _require_ended(later)
        (folder / MARKER).touch(mode=0o600)
        make_durable(folder / MARKER)
        yield later
        (folder / MARKER).unlink()
        make_durable(folder)
    finally:
        lock.close()


def _made_aside(folder: Path) -> Path:
    aside = folder / datetime.now(UTC).strftime("before-restore-%Y%m%dT%H%M%S%fZ")
    aside.mkdir(mode=0o700)
    return aside


def _move(later: Sequence[Path], folder: Path, aside: Path) -> None:
    for each in later:
        place = aside / each.relative_to(folder)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        each.rename(place)


def _raise_epoch(database: JournalDatabase) -> None:
    engine = database.engine()
    try:
        with engine.begin() as connection:
            connection.execute(update(META).values(epoch=META.c.epoch + _EPOCHS_BETWEEN))
    finally:
        engine.dispose()


def _require_journal(backup: Path) -> None:
    """A file of another kind is a wrong argument, not a damaged journal. Raises BadInput."""
    try:
        with closing(opened_to_read(backup)) as reading:
            found = {name for (name,) in reading.execute("SELECT name FROM sqlite_master")}
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
            return  # What is damaged, reading the journal tells.
        found = set()
    if not {META.name, RECORDS.name} <= found:
        raise BadInput(f"{backup}: not a journal of Motet; name a file of 'motet server backup'")


def _replayed(address: str) -> LiveState:
    """The state that a journal leads to: it can be read, and by this version."""
    with JournalReader(address) as reader:
        cluster: ReplayedCluster | None = None
        for record in reader.records():
            if cluster is None:
                cluster = ReplayedCluster(_declared(address, record))
            cluster.replay(record)
    if cluster is None:
        raise BadInput(f"{address}: holds no record of a journal")
    return cluster.state


def _declared(address: str, first: Record) -> ClusterDeclared:
    try:
        return declared_by(first)
    except BadInput as error:
        raise BadInput(f"{address}: {error}") from error


def _require_ended(folders: list[Path]) -> None:
    """Raises BadInput while processes of these attempts run on this machine."""
    for folder in folders:
        attempts = [folder, *numbered_folders(folder)]
        if pids := [pid for each in attempts for pid in marked_processes(str(each))]:
            raise BadInput(
                f"{folder}: the backup does not know this job, whose processes run "
                f"({', '.join(map(str, pids[:5]))}); kill them, or cancel the job in a server with "
                "the journal before, and end that server"
            )


def _replace_journal(backup: Path, journal: Path, aside: Path) -> int | None:
    """The new one takes the name in one step, when the one before has another name. Returns how
    many revocations were kept."""
    prepared = journal.with_name(f".{journal.name}.restoring")
    prepared.unlink(missing_ok=True)
    os.close(os.open(prepared, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    copy_database(backup, prepared)
    with closing(sqlite3.connect(prepared, isolation_level=None)) as connection:
        (epoch,) = connection.execute("SELECT epoch FROM journal").fetchone()
        latest = max(epoch, _epoch_of(journal)) + _EPOCHS_BETWEEN
        connection.execute("UPDATE journal SET epoch = ?", (latest,))
        revoked = keep_revocations(journal, connection)
    make_durable(prepared)
    for suffix in ("", "-wal", "-shm"):
        before = journal.with_name(journal.name + suffix)
        if before.exists():
            shutil.copy2(before, aside / before.name)
            make_durable(aside / before.name)
            if suffix:
                before.unlink()
    prepared.replace(journal)
    make_durable(journal)
    return revoked


def _epoch_of(journal: Path) -> int:
    """Zero for one that cannot be read."""
    with suppress(sqlite3.Error, TypeError), closing(sqlite3.connect(journal)) as connection:
        if journal.stat().st_size:
            (epoch,) = connection.execute("SELECT epoch FROM journal").fetchone()
            return int(epoch)
    return 0
