"""Who did what, when and from where: written in batches by a thread, kept in the journal's
database."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from sqlalchemy import Engine, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from motet.live.accounts.account_tables import ACCOUNT_TABLES, AUDIT
from motet.live.journal.database import JournalDatabase

MOST_WAITING, MOST_PER_COMMIT = 10_000, 500
_LOG = logging.getLogger("motet.audit")
_FIELDS = ("at_us", "user", "role", "token", "source", "action", "target", "status")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A request that changes something, or that was refused.

    `user`, `role`, `token`: empty for a stranger. `source`: the address from which it came.
    `action`: method and path. `target`: what it created. `status`: of the answer, as in HTTP.
    """

    at_us: int
    user: str
    role: str
    token: str
    source: str
    action: str
    target: str
    status: int


class AuditLog:
    """Entries appear some milliseconds after the answer; requests do not wait for them."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[AuditEntry | None] = queue.Queue(MOST_WAITING)
        self._engine: Engine | None = None
        self._thread = threading.Thread(target=self._write, name="audit")

    def open(self, address: str) -> None:
        """Begin to write. `address`: of the journal, which this server has opened."""
        self._engine = JournalDatabase(address).engine()
        with self._engine.begin() as connection:
            ACCOUNT_TABLES.create_all(connection)
        self._thread.start()

    def record(self, entry: AuditEntry) -> None:
        """Hand an entry over."""
        try:
            self._waiting.put_nowait(entry)
        except queue.Full:
            _LOG.error("audit_entry_lost", extra={"fields": {"action": entry.action}})

    def entries(
        self, before: int | None, limit: int, user: str = ""
    ) -> list[tuple[int, AuditEntry]]:
        """The latest entries first, with their numbers. `before`: the last number of the page
        before; `user`: only of this one."""
        assert self._engine is not None
        query = select(AUDIT).order_by(AUDIT.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(AUDIT.c.id < before)
        if user:
            query = query.where(AUDIT.c.user == user)
        with self._engine.begin() as connection:
            rows = connection.execute(query).mappings().all()
        return [(row["id"], AuditEntry(*(row[name] for name in _FIELDS))) for row in rows]

    def forget_before(self, at_us: int) -> int:
        """Delete old entries; returns how many."""
        assert self._engine is not None
        with self._engine.begin() as connection:
            return connection.execute(delete(AUDIT).where(AUDIT.c.at_us < at_us)).rowcount

    def close(self) -> None:
        """Write what waits, and close the database."""
        if self._engine is not None:
            self._waiting.put(None)
            self._thread.join()
            self._engine.dispose()

    def _write(self) -> None:
        while (entry := self._waiting.get()) is not None:
            batch: list[AuditEntry] = [entry]
            with suppress(queue.Empty):
                while len(batch) < MOST_PER_COMMIT:
                    following = self._waiting.get_nowait()
                    if following is None:
                        self._append(batch)
                        return
                    batch.append(following)
            self._append(batch)

    def _append(self, batch: Sequence[AuditEntry]) -> None:
        assert self._engine is not None
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(AUDIT), [asdict(each) for each in batch])
        except SQLAlchemyError as error:  # The server goes on; the loss is in its log.
            reason = " ".join(str(getattr(error, "orig", error)).split())[:200]
            fields = {"entries": len(batch), "reason": reason}
            _LOG.error("audit_entries_lost", extra={"fields": fields})
