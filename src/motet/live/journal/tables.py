"""The tables of a journal in SQLite or PostgreSQL, and the error of one that is damaged."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, Text
from sqlalchemy.exc import DBAPIError, NoSuchTableError, SQLAlchemyError

from motet.domain.errors import MotetError

FORMAT_VERSION = 4
"""2: records have checksums. 3: they have decisions. 4: these tell once what concerns many jobs.
See migrations.py."""
DAMAGES = (SQLAlchemyError, UnicodeDecodeError, TypeError)
"""Of a damaged database; drivers raise the last two for values of the wrong kind."""

TABLES = MetaData()
META = Table(
    "journal",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("format_version", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
)
RECORDS = Table(
    "records",
    TABLES,
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("events", Text, nullable=False),
    Column("facts", Text, nullable=False),
    Column("actions", Text, nullable=False),
    Column("software", String(40), nullable=False),
    Column("checksum", String(64)),  # None in records of format 1.
    Column("decision", Text),  # None in records of formats 1 and 2.
)


class JournalDamaged(MotetError):
    """The journal cannot be read; the message tells what to do."""

    def __init__(self, part: str, reason: object) -> None:
        super().__init__(
            f"{part} cannot be read ({_told(reason):.120}); restore a copy of the journal, or "
            "start the server with another --state-dir"
        )


def _told(reason: object) -> str:
    """Without the query, and the address of an explanation, that SQLAlchemy adds."""
    if isinstance(reason, NoSuchTableError):
        return f"it has no table {reason}"
    return " ".join(str(reason.orig if isinstance(reason, DBAPIError) else reason).split())
