"""What an operator should know after the journal was read."""

from __future__ import annotations

import logging

from motet.live.journal.store import JournalStore
from motet.live.master.master import Master

_LOG = logging.getLogger("motet.master")


def log_notices(store: JournalStore, master: Master) -> None:
    """Log that the journal was migrated, and that it holds other decisions than those of today."""
    if (copy := store.copy_of_former) is not None:
        _LOG.warning("journal_migrated", extra={"fields": {"copy_of_former": str(copy)}})
    if (found := master.divergence) is not None:
        fields = {"record": found.record, "records": found.count, "reason": str(found)}
        _LOG.warning("journal_decided_otherwise", extra={"fields": fields})
