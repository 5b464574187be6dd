"""The interface to a place for spilled data, and the error of the disk below it."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from motet.domain.errors import JobFailed
from motet.runtime.spilling.section_image import SpillBuffer

_REMEDY = "create it or free space there, name another folder with --spill-dir, or lower --spill"


class SpillTarget(Protocol):
    """Keeps bytes outside of this process's memory. Places and lengths are multiples of the page
    size. Used by several threads, by one at a time at each place; all methods raise JobFailed."""

    def reserve(self, nbytes: int) -> int:
        """The place of so many bytes, which no later `write` lacks room for."""
        ...

    def write(self, place: int, data: SpillBuffer) -> None:
        """Keep the data of a page-aligned buffer."""
        ...

    def read(self, place: int, data: SpillBuffer) -> None:
        """Fill a page-aligned buffer."""
        ...

    def close(self) -> None:
        """Forget everything; also done when the last reference is gone."""
        ...


def disk_failure(folder: Path, error: OSError) -> JobFailed:
    """The error of a job whose disk fails or is full."""
    reason = error.strerror or str(error)
    return JobFailed(f"spilling data to {folder}: {reason}; {_REMEDY}")
