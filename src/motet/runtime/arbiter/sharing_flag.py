"""Whether several jobs share a machine: a byte in a file that all of them map."""

from __future__ import annotations

import mmap
import os
from pathlib import Path


class SharingFlag:
    """Written by the arbiter, read before every subtask. A further arbiter uses the same file, so
    jobs that began before it see what it writes."""

    def __init__(self, address: Path) -> None:
        """`address`: of the arbiter. Raises OSError."""
        descriptor = os.open(f"{address}.shared", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, mmap.PAGESIZE)
            self._byte = mmap.mmap(descriptor, 1)
        finally:
            os.close(descriptor)

    @property
    def is_set(self) -> bool:
        """Whether processes of several jobs are connected."""
        return self._byte[0] != 0

    def write(self, jobs: int) -> None:
        """Tell how many jobs there are."""
        self._byte[0] = jobs > 1
