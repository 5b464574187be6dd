"""Records of a journal in SQLite or PostgreSQL. A record is durable when `append` returns."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError

from motet.domain.errors import BadInput, MotetError
from motet.live.journal.record import Record

FORMAT_VERSION = 2
"""2: records have checksums."""
_PAGE = 1000
# Of a damaged database; drivers raise the last two for values of the wrong kind.
_DAMAGES = (SQLAlchemyError, UnicodeDecodeError, TypeError)
_LOGIN = re.compile("//[^/@]*@")

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


class JournalInUse(MotetError):
    """Another master has this journal."""


class MasterSuperseded(MotetError):
    """A later master has taken over this journal; this one must end."""


class JournalDamaged(MotetError):
    """The journal cannot be read; the message tells what to do."""

    def __init__(self, part: str, reason: object) -> None:
        super().__init__(
            f"{part} cannot be read ({reason!s:.120}); restore a copy of the journal, or start the "
            "server with another --state-dir"
        )


class JournalStore:
    """An open journal. One process at a time; used from one thread."""

    def __init__(self, address: str) -> None:
        """`address`: a database URL, or the path of a SQLite file.

        Raises BadInput, JournalInUse, JournalDamaged.

        Opening begins an epoch: masters that had the journal before can no longer append.
        """
        url = _url_of(address)
        is_sqlite = url.get_backend_name() == "sqlite"
        self._lock = _locked(Path(url.database)) if url.database and is_sqlite else None
        self._engine = create_engine(url)
        if is_sqlite:
            event.listen(self._engine, "connect", _make_durable)
            event.listen(self._engine, "begin", _begin_immediately)
        try:
            self._connection = self._engine.connect()
            self.epoch = self._begin_epoch()
            last, self._last_checksum = self._last_record()
            self._next = last + 1
        except OperationalError as error:
            raise BadInput(f"--database {_shown(url)}: cannot be opened: {error.orig}") from error
        except _DAMAGES as error:
            raise JournalDamaged(f"the journal {_shown(url)}", error) from error

    def append(self, records: Sequence[Record]) -> None:
        """Make records durable, all or none. Raises MasterSuperseded."""
        checksum, rows = self._last_checksum, []
        for record in records:
            checksum = record.checksum(checksum)
            rows.append({**asdict(record), "epoch": self.epoch, "checksum": checksum})
        with self._connection.begin():
            self._require_epoch()
            self._connection.execute(insert(_RECORDS), rows)
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
        self._engine.dispose()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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


def _url_of(address: str) -> URL:
    """Raises BadInput for an address without a database driver."""
    if "://" not in address:
        return URL.create("sqlite", database=str(Path(address).absolute()))
    try:
        url = make_url(address)
        url.get_dialect().import_dbapi()
    except ArgumentError as error:
        raise BadInput(f"--database {_LOGIN.sub('//', address)}: not a database URL") from error
    except ImportError as error:
        raise BadInput(f"--database {_shown(url)}: pip install {error.name}") from error
    if url.password is not None:
        raise BadInput(
            f"--database {_shown(url)}: other users see a password on the command line; put it "
            "into ~/.pgpass, and leave it out here"
        )
    return url


def _shown(url: URL) -> str:
    """For messages: a path, or a URL without its password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.render_as_string(hide_password=True)


def _locked(path: Path) -> int:
    """A lock that ends with this process, on a file beside the database. Raises JournalInUse."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise BadInput(f"--database {path}: {error.strerror}; give another path") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise JournalInUse(
            f"{path}: another motet server uses this journal; stop it, or give --database another"
        ) from None
    return lock


def _make_durable(connection: Any, record: object) -> None:
    """Let SQLAlchemy begin transactions, and wait for the disk at every commit."""
    del record
    connection.isolation_level = None
    for statement in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000"):
        connection.execute(f"PRAGMA {statement}")


def _begin_immediately(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
