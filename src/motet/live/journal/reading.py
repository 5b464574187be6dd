"""Reading of the records of a journal, also of one that a master has open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from sqlalchemy import ColumnElement, Connection, func, inspect, null, select
from sqlalchemy.exc import DBAPIError, OperationalError

from motet.domain.errors import ConnectionLost
from motet.live.journal.database import JournalDatabase
from motet.live.journal.record import Record
from motet.live.journal.tables import DAMAGES, RECORDS, JournalDamaged

_PAGE = 1000


class JournalReader:
    """A journal that is only read: it takes no lock and begins no epoch."""

    def __init__(self, address: str) -> None:
        """`address`: a database URL, or the path of a SQLite file. Raises BadInput, Unreachable."""
        database = JournalDatabase(address)
        self._engine = database.reading_engine()
        try:
            self._connection = self._engine.connect()
        except OperationalError as error:
            self._engine.dispose()
            raise database.unreadable(error) from error

    def records(self, first: int = 1) -> Iterator[Record]:
        """All records from a number on, in order. Raises JournalDamaged, ConnectionLost."""
        return read_records(self._connection, first)

    def last_sequence(self) -> int:
        """The number of the last record; 0: there is none."""
        found = self._connection.execute(select(func.max(RECORDS.c.sequence))).scalar()
        return int(found or 0)

    def close(self) -> None:
        """Close the database."""
        self._connection.close()
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_records(connection: Connection, first: int) -> Iterator[Record]:
    """Records from a number on, in order. Raises JournalDamaged with a record's number,
    and ConnectionLost.

    Records of format 1, which have no checksums, come before all others.
    """
    with _damages_from(first):
        columns = _columns(connection)
        before, previous = last_record(connection, below=first)
    while True:
        query = select(*columns).where(RECORDS.c.sequence >= first)
        with _damages_from(first), connection.begin():
            page = connection.execute(query.order_by(RECORDS.c.sequence).limit(_PAGE)).all()
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


def _columns(connection: Connection) -> list[ColumnElement[Any]]:
    """Those of a record and its checksum; NULL for what an earlier format lacks."""
    with connection.begin():
        found = {each["name"] for each in inspect(connection).get_columns(RECORDS.name)}
    wanted = [RECORDS.c[name] for name in (*Record.__slots__, "checksum")]
    return [each if each.name in found else null().label(each.name) for each in wanted]


@contextmanager
def _damages_from(first: int) -> Iterator[None]:
    try:
        yield
    except DAMAGES as error:
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            reason = " ".join(str(error.orig).split())[:200]
            raise ConnectionLost(
                f"the database of the journal has ended the connection ({reason}); ask again when "
                "it is usable"
            ) from error
        raise JournalDamaged(f"the journal from record {first} on", error) from error


def last_record(connection: Connection, below: int | None = None) -> tuple[int, str]:
    """The number and the checksum of the last record; 0 and "" without one."""
    sequence, *_, checksum = _columns(connection)
    query = select(sequence, checksum)
    if below is not None:
        query = query.where(RECORDS.c.sequence < below)
    with connection.begin():
        found = connection.execute(query.order_by(RECORDS.c.sequence.desc()).limit(1)).one_or_none()
    return (0, "") if found is None else (found.sequence, found.checksum or "")
