"""Resident memory of processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_RESIDENT = 1  # The field of /proc/PID/statm, in pages.


def resident_bytes(processes: Iterable[int]) -> int:
    """Of these processes together; pages that several share count for each."""
    pages = 0
    for process in processes:
        with suppress(OSError):  # It has ended.
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[_RESIDENT])
    return pages * os.sysconf("SC_PAGE_SIZE")


def own_resident_bytes() -> int:
    """Of this process."""
    return resident_bytes([os.getpid()])
