"""What an operator should know after a journal of an earlier format was read."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from motet import __version__

_LOG = logging.getLogger("motet.journal")


@dataclass(frozen=True)
class Divergence:
    """Records of formats 1 and 2 whose steps are decided otherwise now: the first one, the version
    that wrote it, and how many there are."""

    record: int
    software: str
    count: int

    def __str__(self) -> str:
        more = f", and {self.count - 1} later ones" if self.count > 1 else ""
        return (
            f"record {self.record} of the journal{more}: Motet {self.software} decided otherwise "
            f"than version {__version__} and its policy do; what was done counts, reasons of "
            "waiting and the memory of the policy may differ"
        )


def log_notices(copy_of_former: Path | None, divergence: Divergence | None) -> None:
    """Log that the journal was migrated, and that it holds other decisions than those of today."""
    if copy_of_former is not None:
        _LOG.warning("journal_migrated", extra={"fields": {"copy": str(copy_of_former)}})
    if divergence is not None:
        fields = {"record": divergence.record, "records": divergence.count}
        extra = {"fields": {**fields, "reason": str(divergence)}}
        _LOG.warning("journal_decided_otherwise", extra=extra)
