"""The database of a journal: its address, its lock, and commits that wait for the disk."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, OperationalError

from motet.domain.errors import BadInput, MotetError, Unreachable
from motet.live.journal.migrations import copy_before_migration
from motet.live.journal.private_file import close_to_others, locked_file

_LOGIN = re.compile("//[^/@]*@")
_PSYCOPG = "postgresql+psycopg"
_LOCK_KEY = 0x6D6F746574  # "motet": one journal in every database.


class JournalInUse(MotetError):
    """Another master has this journal."""


class JournalLock(Protocol):
    """Held by one process at a time; ends with the process."""

    def close(self) -> None:
        """Release it."""
        ...


class JournalDatabase:
    """The database at an address. `shown`: the address for messages, without a password."""

    def __init__(self, address: str) -> None:
        """`address`: a database URL, or the path of a SQLite file. Raises BadInput."""
        self._url = _url_of(address)
        self.shown = _shown(self._url)

    @property
    def file(self) -> Path | None:
        """Of a SQLite database; None: it is in PostgreSQL."""
        is_file = self._url.get_backend_name() == "sqlite"
        return Path(str(self._url.database)) if is_file else None

    def lock(self) -> JournalLock:
        """Raises JournalInUse, or BadInput if the database cannot be reached."""
        if self._url.get_backend_name() == "postgresql":
            return _AdvisoryLock(self)
        return _FileLock(Path(str(self._url.database)))

    def prepare(self) -> Path | None:
        """Before a master opens the database, which it has locked: the file of a SQLite database is
        closed to other users, and copied if its format is an earlier one; returns the copy.

        Raises BadInput.
        """
        if self._url.get_backend_name() == "postgresql":
            return None
        path = Path(str(self._url.database))
        try:
            close_to_others(path)
        except OSError as error:
            raise BadInput(f"--database {path}: {error.strerror}; give another path") from error
        return copy_before_migration(path)

    def engine(self) -> Engine:
        """Connections whose commits are on the disk when they return."""
        engine = create_engine(self._url)
        if self._url.get_backend_name() == "sqlite":
            event.listen(engine, "connect", _make_sqlite_durable)
            event.listen(engine, "begin", _begin_immediately)
        else:
            event.listen(engine, "connect", _make_postgresql_durable)
        return engine

    def reading_engine(self) -> Engine:
        """Connections that only read, beside a master that writes."""
        if self._url.get_backend_name() == "postgresql":
            return create_engine(self._url, execution_options={"postgresql_readonly": True})
        place = f"file:{quote(str(self._url.database))}"
        query = {"mode": "ro", "uri": "true", "timeout": "60"}
        return create_engine(self._url.set(database=place, query=query))

    def refusal(self, error: OperationalError) -> BadInput:
        """The error for a database that a master cannot open."""
        return BadInput(f"--database {self.shown}: cannot be opened: {_reason(error)}")

    def unreadable(self, error: OperationalError) -> MotetError:
        """The error for a journal that cannot be read: of a file, it is that of the path."""
        if self.file is None:
            return Unreachable(
                f"the database of the journal, {self.shown}, cannot be reached ({_reason(error)}); "
                "start the database, or give the URL of another one"
            )
        return BadInput(f"the journal {self.shown}: cannot be opened: {_reason(error)}")


def _reason(error: OperationalError) -> str:
    return " ".join(str(error.orig).split())[:200]


class _FileLock:
    """A lock on a file beside a SQLite database."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = locked_file(path.with_name(f"{path.name}.lock"))
        except OSError as error:
            raise BadInput(f"--database {path}: {error.strerror}; give another path") from error
        if lock is None:
            raise _in_use(str(path))
        self._lock = lock

    def close(self) -> None:
        os.close(self._lock)


class _AdvisoryLock:
    """A lock of a PostgreSQL session, on a connection that does nothing else.

    It ends with the session, so also when the server of the database restarts; the epoch then keeps
    a former master from appending.
    """

    def __init__(self, database: JournalDatabase) -> None:
        self._engine = database.engine()
        try:
            self._connection = self._engine.connect().execution_options(
                isolation_level="AUTOCOMMIT"
            )
            query = text("SELECT pg_try_advisory_lock(:key)")
            is_ours = self._connection.execute(query, {"key": _LOCK_KEY}).scalar_one()
        except OperationalError as error:
            self._engine.dispose()
            raise database.refusal(error) from error
        if not is_ours:
            self.close()
            raise _in_use(database.shown)

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()


def _in_use(journal: str) -> JournalInUse:
    return JournalInUse(
        f"{journal}: another motet server uses this journal; stop it, or give --database another"
    )


def _url_of(address: str) -> URL:
    """Raises BadInput for an address without a database driver."""
    if "://" not in address:
        return URL.create("sqlite", database=str(Path(address).absolute()))
    try:
        url = make_url(address)
        if url.drivername in ("postgresql", "postgres"):
            url = url.set(drivername=_PSYCOPG)
    except ArgumentError as error:
        raise BadInput(f"--database {_LOGIN.sub('//', address)}: not a database URL") from error
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise BadInput(
            f"--database {_shown(url)}: a journal is kept in SQLite or PostgreSQL; give a path, or "
            "postgresql://USER@HOST/NAME"
        )
    try:
        url.get_dialect().import_dbapi()
    except ArgumentError as error:
        raise BadInput(f"--database {_shown(url)}: not a database URL") from error
    except ImportError as error:
        package = "'motet[postgresql]'" if error.name == "psycopg" else error.name
        raise BadInput(f"--database {_shown(url)}: pip install {package}") from error
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise BadInput(
            f"--database {address}: a journal in memory is lost; give the path of a file"
        )
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
    if url.drivername == _PSYCOPG:
        url = url.set(drivername="postgresql")
    return url.render_as_string(hide_password=True)


def _make_sqlite_durable(connection: Any, record: object) -> None:
    """Let SQLAlchemy begin transactions, and wait for the disk at every commit."""
    del record
    connection.isolation_level = None
    for statement in ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=60000"):
        connection.execute(f"PRAGMA {statement}")


def _begin_immediately(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _make_postgresql_durable(connection: Any, record: object) -> None:
    """Wait for the disk at every commit, whatever the server's default is."""
    del record
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO on")
    connection.commit()
