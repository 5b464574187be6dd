"""The last look at the logs of attempts: which attempts the next one has to look at."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

_NAME = "log-look.json"
_TEMPORARY = f".{_NAME}.new"
_LARGEST = 2**63
"""Above all integers of SQLite."""
_LOG = logging.getLogger("motet.upkeep")


@dataclass(frozen=True, slots=True)
class LogLook:
    """`at_us`: Unix time; 0: there was none. `running`: (job, attempt) of those that had not ended
    then, as far as the server had heard: it may hear of an end much later, as when it is down.
    `limit_bytes`: to which logs were cut; 0: not known."""

    at_us: int = 0
    running: frozenset[tuple[int, int]] = frozenset()
    limit_bytes: int = 0

    @classmethod
    def read(cls, folder: Path) -> Self:
        """That of the server before, with this state folder."""
        path = folder / _NAME
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            running = frozenset((_whole(job), _whole(attempt)) for job, attempt in found["running"])
            return cls(_whole(found["at_us"]), running, _whole(found["limit_bytes"]))
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            _LOG.warning("log_look_unreadable", extra=_extra(path, error))
            return cls()

    def for_limit(self, limit_bytes: int) -> Self:
        """What the next look with this limit goes on from: it looks at all logs if the limit is
        lower than before."""
        return replace(self, at_us=0) if limit_bytes < self.limit_bytes else self

    def write(self, folder: Path, *, is_told: bool = True) -> bool:
        """Replace the one before; returns whether it could. `is_told`: otherwise log why, as of a
        full disk, which shorter logs may help."""
        path, temporary = folder / _NAME, folder / _TEMPORARY
        document = {
            "at_us": self.at_us,
            "running": sorted(self.running),
            "limit_bytes": self.limit_bytes,
        }
        try:
            temporary.write_text(json.dumps(document), encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            if is_told:
                _LOG.warning("log_look_unwritten", extra=_extra(path, error))
            with suppress(OSError):
                temporary.unlink()
            return False
        return True


def _whole(value: object) -> int:
    """Raises ValueError for what is no integer from 0 that SQLite can hold."""
    if not isinstance(value, int) or not 0 <= value < _LARGEST:
        raise ValueError(f"not an integer from 0 below 2**63: {value!r:.40}")
    return value


def _extra(path: Path, error: Exception) -> dict[str, Any]:
    reason = f"{type(error).__name__}: {error}"
    return {"fields": {"file": str(path), "reason": reason}}
