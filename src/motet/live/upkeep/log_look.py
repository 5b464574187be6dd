"""The last look at the logs of attempts: which attempts the next one has to look at."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_NAME = "log-look.json"
_LOG = logging.getLogger("motet.upkeep")


@dataclass(frozen=True, slots=True)
class LogLook:
    """`at_us`: Unix time; 0: there was none. `running`: (job, attempt) of those that had not ended
    then, as far as the server had heard: it may hear of an end much later, as when it is down."""

    at_us: int = 0
    running: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """That of the server before, with this state folder."""
        path = folder / _NAME
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            running = frozenset((int(job), int(attempt)) for job, attempt in found["running"])
            return cls(int(found["at_us"]), running)
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            _LOG.warning("log_look_unreadable", extra={"fields": {"file": str(path)}})
            return cls()

    def write(self, folder: Path) -> None:
        """Replace the one before. A full disk, which shorter logs may help, is only logged."""
        path, temporary = folder / _NAME, folder / f".{_NAME}.{os.getpid()}"
        document = {"at_us": self.at_us, "running": sorted(self.running)}
        try:
            temporary.write_text(json.dumps(document), encoding="utf-8")
            temporary.replace(path)
        except OSError:
            _LOG.warning("log_look_unwritten", extra={"fields": {"file": str(path)}})
            temporary.unlink(missing_ok=True)
