"""One step of the engine, as the journal keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Record:
    """One step of the engine. `events`, `facts`, `actions` and `decision` are JSON.

    `at_us`: Unix time. `software`: version of Motet that decided. `decision`: what the decision of
    the step changed; `null` if it made none, None in records of formats 1 and 2, which lack it.
    """

    sequence: int
    at_us: int
    events: str
    facts: str
    actions: str
    software: str
    decision: str | None = None

    def checksum(self, previous: str) -> str:
        """Of this record after the one with the checksum `previous`: a missing record shows too."""
        digest = sha256(previous.encode())
        for name in self.__slots__:
            if (value := getattr(self, name)) is None:
                continue
            content = str(value).encode()
            digest.update(f"{len(content)}:".encode() + content)
        return digest.hexdigest()
