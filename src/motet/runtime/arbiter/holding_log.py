"""What the tokens of a machine were held for: a ring of the last subtasks in a file.

The arbiter appends; other programs read the file at any time. A job that is alone on its machine
takes no token, so its subtasks are not in it.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

from motet.runtime.arbiter.messages import CODES, KINDS
from motet.runtime.core.subtask import SubtaskKind

CAPACITY = 1 << 15
JOB_BYTES = 15
"""Of the name of a job that are kept."""
_RECORD = struct.Struct(f"<QQB{JOB_BYTES}s")
_COUNT = struct.Struct("<Q")
_HEAD_BYTES = _RECORD.size


class Holding(NamedTuple):
    """One subtask under its token; Unix time in microseconds."""

    start_us: int
    end_us: int
    kind: SubtaskKind
    job: str


def log_of(address: Path) -> Path:
    """The file of the arbiter at this address."""
    return Path(f"{address}.holdings")


class HoldingLog:
    """Appends to the file; a further arbiter continues it."""

    def __init__(self, address: Path) -> None:
        """`address`: of the arbiter. Raises OSError."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(log_of(address), flags, 0o600)
        self._count = _count_in(os.pread(self._file, _COUNT.size, 0))

    def add(self, held: Holding) -> None:
        """Append one; the oldest one is overwritten when the ring is full. Raises OSError."""
        job = held.job.encode()[:JOB_BYTES]
        record = _RECORD.pack(held.start_us, held.end_us, CODES[held.kind], job)
        os.pwrite(self._file, record, _HEAD_BYTES + self._count % CAPACITY * _RECORD.size)
        self._count += 1
        os.pwrite(self._file, _COUNT.pack(self._count), 0)


def read_holdings(path: Path) -> list[Holding]:
    """The last subtasks by the time of their end; empty if none was recorded."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = len(content) - _HEAD_BYTES
    records = content[_HEAD_BYTES : _HEAD_BYTES + max(whole, 0) // _RECORD.size * _RECORD.size]
    found = [
        Holding(start_us, end_us, KINDS[code], job.rstrip(b"\0").decode(errors="replace"))
        for start_us, end_us, code, job in _RECORD.iter_unpack(records)
        if code in KINDS
    ]
    return sorted(found, key=lambda each: each.end_us)


def _count_in(head: bytes) -> int:
    found: int = _COUNT.unpack(head)[0] if len(head) == _COUNT.size else 0
    return found
