"""Webhooks in the database of the journal; their secrets are files that only the server reads."""

from __future__ import annotations

import errno
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)

from motet.domain.errors import BadInput, NotFound, UnknownName
from motet.live.journal.database import JournalDatabase
from motet.live.webhooks.events import KINDS
from motet.live.webhooks.signature import new_signing_secret

MOST_WEBHOOKS = 20
LONGEST_URL = 2000
WEBHOOK_TABLES = MetaData()
WEBHOOKS = Table(
    "webhooks",
    WEBHOOK_TABLES,
    Column("id", String(16), primary_key=True),
    Column("url", String(LONGEST_URL), nullable=False),
    Column("kinds", String(500), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("created_by", String(63), nullable=False),
    Column("read_to", BigInteger, nullable=False),
    Column("delivered_us", BigInteger),
    Column("problem", String(300), nullable=False),
)
_LONGEST_PROBLEM = 300
_NUMBER = re.compile("[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Webhook:
    """`kinds`: of the events that it tells. `read_to`: the last record of the journal all of whose
    events were delivered. `delivered_us`: when one was the last time. `problem`: why the next one
    cannot be; empty: nothing is known."""

    id: str
    url: str
    kinds: tuple[str, ...]
    created_us: int
    created_by: str
    read_to: int
    delivered_us: int | None = None
    problem: str = ""


class WebhookStore:
    """Used by all threads of a server; nothing else writes the table."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of the secrets; only this user may read it."""
        self._folder, self._engine = folder, None
        self._lock = threading.Lock()

    _engine: Engine | None

    def open(self, address: str) -> None:
        """`address`: of the journal, which this server has opened."""
        self._engine = JournalDatabase(address).engine()
        with self._engine.begin() as connection:
            WEBHOOK_TABLES.create_all(connection)

    def close(self) -> None:
        """Close the database."""
        if self._engine is not None:
            self._engine.dispose()

    def all(self) -> list[Webhook]:
        """In the order of their creation."""
        with self._connected() as connection:
            rows = connection.execute(select(WEBHOOKS).order_by(WEBHOOKS.c.created_us)).mappings()
            return [Webhook(**{**row, "kinds": tuple(row["kinds"].split(","))}) for row in rows]

    def find(self, number: str) -> Webhook:
        """Raises NotFound."""
        for each in self.all():
            if each.id == number:
                return each
        raise NotFound(f"there is no webhook {number[:40]!r}")

    def add(self, url: str, kinds: Sequence[str], user: str, read_to: int) -> tuple[Webhook, str]:
        """A new webhook and its secret, which nothing shows again. Raises BadInput, UnknownName.

        `kinds`: empty: all. It tells what happens after the record `read_to`.
        """
        check_url(url)
        wanted = tuple(dict.fromkeys(kinds)) or KINDS
        for kind in wanted:
            if kind not in KINDS:
                raise UnknownName("event of a webhook", kind, KINDS)
        number, secret = secrets.token_hex(4), new_signing_secret()
        webhook = Webhook(number, url, wanted, time.time_ns() // 1000, user, read_to)
        with self._lock:
            if len(self.all()) >= MOST_WEBHOOKS:
                raise BadInput(f"there are {MOST_WEBHOOKS} webhooks; remove one first")
            self._write_secret(number, secret)
            with self._connected() as connection:
                row = {**asdict(webhook), "kinds": ",".join(wanted)}
                connection.execute(insert(WEBHOOKS).values(row))
        return webhook, secret

    def remove(self, number: str) -> None:
        """Raises NotFound."""
        self.find(number)
        with self._connected() as connection:
            connection.execute(delete(WEBHOOKS).where(WEBHOOKS.c.id == number))
        with suppress(FileNotFoundError):
            self._place(number).unlink()

    def secret(self, number: str) -> str:
        """Raises FileNotFoundError if it was removed, or the webhook has no number of ours."""
        return self._place(number).read_text(encoding="ascii")

    def read(self, number: str, read_to: int, delivered_us: int | None) -> None:
        """All events up to this record were delivered, the last one then; None: there was none."""
        values: dict[str, object] = {"read_to": read_to}
        if delivered_us is not None:
            values |= {"delivered_us": delivered_us, "problem": ""}
        self._update(number, values)

    def failed(self, number: str, problem: str) -> None:
        """An event could not be delivered."""
        self._update(number, {"problem": problem[:_LONGEST_PROBLEM]})

    def _update(self, number: str, values: dict[str, object]) -> None:
        with self._connected() as connection:
            connection.execute(update(WEBHOOKS).where(WEBHOOKS.c.id == number).values(values))

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        assert self._engine is not None
        with self._engine.begin() as connection:
            yield connection

    def _place(self, number: str) -> Path:
        if not _NUMBER.fullmatch(number):  # Of a database that was restored: it names a file.
            raise FileNotFoundError(errno.ENOENT, "no secret of a webhook", number[:40])
        return self._folder / number

    def _write_secret(self, number: str, secret: str) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(self._place(number), flags, 0o600), "w", encoding="ascii") as file:
            file.write(secret)


def check_url(url: str) -> None:
    """Raises BadInput."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")  # As connecting to it will do.
        is_url = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        is_url = False
    if not is_url or not url.isprintable() or " " in url or len(url) > LONGEST_URL:
        raise BadInput(f"webhook {url[:80]!r}: write http://HOST/PATH or https://HOST/PATH")
