"""Records of a journal in SQLite or PostgreSQL. A record is durable when `append` returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Self

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from motet.domain.errors import BadInput, MotetError
from motet.live.journal.database import JournalDatabase, JournalLock
from motet.live.journal.record import Record

FORMAT_VERSION = 2
"""2: records have checksums."""
_PAGE = 1000
# Of a damaged database; drivers raise the last two for values of the wrong kind.
_DAMAGES = (SQLAlchemyError, UnicodeDecodeError, TypeError)

_TABLES = MetaData()
_META = Table(
    "journal",
    _TABLES,
    Column("id", Integer, primary_key=True),
    Column("format_version", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
)
_RECORDS = Table(
    "records",
    _TABLES,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("events", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("actions", Text, nullable=False),
    Column("software", String(40), nullable=False),
    Column("checksum", String(64)),  # None in records of format 1.
)


class MasterSuperseded(MotetError):
    """A later master has taken over this journal; this one must end."""


class JournalDamaged(MotetError):
    """The journal cannot be read; the message tells what to do."""

    def __init__(self, part: str, reason: object) -> None:
        super().__init__(
            f"{part} cannot be read ({reason!s:.120}); restore a copy of the journal, or start the "
            "server with another --state-dir"
        )


class JournalLost(MotetError):
    """The database has become unusable: nothing more can be recorded."""


class JournalStore:
    """An open journal. One process at a time; used from one thread."""

    def __init__(self, address: str) -> None:
        """`address`: a database URL, or the path of a SQLite file.

        Raises BadInput, JournalInUse, JournalDamaged.

        Opening begins an epoch: masters that had the journal before can no longer append.
        """
        database = JournalDatabase(address)
        self._shown = database.shown
        self._lock: JournalLock | None = database.lock()
        self._engine = database.engine()
        self._next, self._last_checksum = 1, ""
        try:
            self._open()
        except OperationalError as error:
            self._release()
            raise database.refusal(error) from error
        except _DAMAGES as error:
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
                self._connection.execute(insert(_RECORDS), rows)
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
        """All records from a number on, in order. Raises JournalDamaged with a record's number.

        Records of format 1, which have no checksums, come before all others.
        """
        columns = [_RECORDS.c[name] for name in (*Record.__slots__, "checksum")]
        before, previous = self._last_record(below=first)
        while True:
            query = select(*columns).where(_RECORDS.c.sequence >= first)
            try:
                with self._connection.begin():
                    page = self._connection.execute(
                        query.order_by(_RECORDS.c.sequence).limit(_PAGE)
                    ).all()
            except _DAMAGES as error:
                raise JournalDamaged(f"the journal from record {first} on", error) from error
            if not page:
                return
            for *fields, checksum in page:
                record = Record(*fields)
                is_unprotected = checksum is None and not previous
                if record.sequence != before + 1:
                    raise JournalDamaged(f"record {before + 1} of the journal", "it is missing")
                if not is_unprotected and checksum != record.checksum(previous):
                    raise JournalDamaged(
                        f"record {record.sequence} of the journal", "its checksum does not match"
                    )
                yield record
                before, previous = record.sequence, checksum or ""
            first = before + 1

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
        self.epoch = self._begin_epoch()
        last, self._last_checksum = self._last_record()
        self._next = last + 1

    def _release(self) -> None:
        self._engine.dispose()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _begin_epoch(self) -> int:
        with self._connection.begin():
            _TABLES.create_all(self._connection)
            found = self._connection.execute(select(_META)).one_or_none()
            if found is None:
                row = {"id": 1, "format_version": FORMAT_VERSION, "epoch": 1}
                self._connection.execute(insert(_META).values(row))
                return 1
            if not isinstance(found.format_version, int) or not isinstance(found.epoch, int):
                raise TypeError("its format is no number")
            if found.format_version > FORMAT_VERSION:
                raise BadInput(
                    f"the journal has format {found.format_version}; this version of Motet reads "
                    f"up to {FORMAT_VERSION}: use the version that wrote it, or a later one"
                )
            if found.format_version < FORMAT_VERSION:
                add = "ALTER TABLE records ADD COLUMN checksum VARCHAR(64)"
                self._connection.exec_driver_sql(add)
            epoch: int = found.epoch + 1
            self._connection.execute(
                update(_META).values(epoch=epoch, format_version=FORMAT_VERSION)
            )
            return epoch

    def _require_epoch(self) -> None:
        found = self._connection.execute(select(_META.c.epoch)).scalar_one()
        if found != self.epoch:
            raise MasterSuperseded(
                f"another server has taken over the journal (epoch {found}, this one is "
                f"{self.epoch}); this server ends"
            )

    def _last_record(self, below: int | None = None) -> tuple[int, str]:
        """The number and the checksum of the last record; 0 and "" without one."""
        query = select(_RECORDS.c.sequence, _RECORDS.c.checksum)
        if below is not None:
            query = query.where(_RECORDS.c.sequence < below)
        with self._connection.begin():
            found = self._connection.execute(
                query.order_by(_RECORDS.c.sequence.desc()).limit(1)
            ).one_or_none()
        return (0, "") if found is None else (found.sequence, found.checksum or "")
