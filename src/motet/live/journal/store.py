"""Records of a journal in SQLite or PostgreSQL. A record is durable when `append` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Self

from sqlalchemy import insert, select, update
from sqlalchemy.exc import DBAPIError, OperationalError

from motet.domain.errors import MotetError
from motet.live.journal.database import JournalDatabase, JournalLock
from motet.live.journal.migrations import migrate, require_known
from motet.live.journal.reading import last_record, read_records
from motet.live.journal.record import Record
from motet.live.journal.tables import (
    DAMAGES,
    FORMAT_VERSION,
    META,
    RECORDS,
    TABLES,
    JournalDamaged,
)


class MasterSuperseded(MotetError):
    """A later master has taken over this journal; this one must end."""


class JournalLost(MotetError):
    """The database has become unusable: nothing more can be recorded."""


class JournalStore:
    """An open journal. One process at a time; used from one thread."""

    def __init__(self, address: str) -> None:
        """`address`: a database URL, or the path of a SQLite file.

        Raises BadInput, JournalInUse, JournalDamaged.

        Opening begins an epoch: masters that had the journal before can no longer append.
        `copy_of_former`: the file with the journal before its migration; None: it was not migrated.
        """
        database = JournalDatabase(address)
        self._shown = database.shown
        self._lock: JournalLock | None = database.lock()
        try:
            self.copy_of_former = database.prepare()
        except BaseException:
            self._lock.close()
            raise
        self._engine = database.engine()
        self._next, self._last_checksum = 1, ""
        try:
            self._open()
        except OperationalError as error:
            self._release()
            raise database.refusal(error) from error
        except DAMAGES as error:
            self._release()
            raise JournalDamaged(f"the journal {self._shown}", error) from error
        except BaseException:
            self._release()
            raise

    def append(self, records: Sequence[Record]) -> None:
        """Make records durable, all or none. Raises MasterSuperseded, JournalLost.

        After JournalLost the records may be there or not; the journal must be opened again.
        """
        checksum, rows = self._last_checksum, []
        for record in records:
            checksum = record.checksum(checksum)
            rows.append({**asdict(record), "epoch": self.epoch, "checksum": checksum})
        try:
            with self._connection.begin():
                self._require_epoch()
                self._connection.execute(insert(RECORDS), rows)
        except DBAPIError as error:
            reason = " ".join(str(error.orig).split())[:200]
            raise JournalLost(
                f"the journal {self._shown} cannot be written ({reason}); jobs keep running: start "
                "the server again when the database is usable"
            ) from error
        self._next, self._last_checksum = records[-1].sequence + 1, checksum

    @property
    def next_sequence(self) -> int:
        """The number of the next record."""
        return self._next

    def records(self, first: int = 1) -> Iterator[Record]:
        """All records from a number on, in order. Raises JournalDamaged with a record's number."""
        return read_records(self._connection, first)

    def close(self) -> None:
        """Close the database and release the journal."""
        self._connection.close()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> None:
        self._connection = self._engine.connect()
        try:
            self.epoch = self._begin_epoch()
            last, self._last_checksum = last_record(self._connection)
        except BaseException:
            self._connection.close()
            raise
        self._next = last + 1

    def _release(self) -> None:
        self._engine.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _begin_epoch(self) -> int:
        with self._connection.begin():
            TABLES.create_all(self._connection)
            found = self._connection.execute(select(META)).one_or_none()
            if found is None:
                row = {"id": 1, "format_version": FORMAT_VERSION, "epoch": 1}
                self._connection.execute(insert(META).values(row))
                return 1
            if not isinstance(found.format_version, int) or not isinstance(found.epoch, int):
                raise TypeError("its format is no number")
            if found.format_version < 1:
                raise TypeError(f"its format is {found.format_version}")
            require_known(found.format_version)
            migrate(self._connection, found.format_version)
            epoch: int = found.epoch + 1
            self._connection.execute(
                update(META).values(epoch=epoch, format_version=FORMAT_VERSION)
            )
            return epoch

    def _require_epoch(self) -> None:
        found = self._connection.execute(select(META.c.epoch)).scalar_one()
        if found != self.epoch:
            raise MasterSuperseded(
                f"another server has taken over the journal (epoch {found}, this one is "
                f"{self.epoch}); this server ends"
            )
