"""A folder of shared memory that only the processes of one test can see."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_HOLD = "mount -t tmpfs shm /dev/shm && echo mounted && exec cat"


@dataclass(frozen=True)
class OwnSharedMemory:
    """`holder`: the process whose mount namespace has it."""

    holder: int

    @property
    def entering(self) -> tuple[str, ...]:
        """The beginning of a command that then sees this /dev/shm."""
        return ("nsenter", f"--mount=/proc/{self.holder}/ns/mnt", f"--wd={Path.cwd()}", "--")

    def segments(self) -> list[str]:
        """The names of all segments."""
        return sorted(path.name for path in Path(f"/proc/{self.holder}/root/dev/shm").iterdir())


@contextmanager
def own_shared_memory() -> Iterator[OwnSharedMemory]:
    """An empty /dev/shm; a skip where this user cannot mount one."""
    if os.getuid() != 0 or not (shutil.which("unshare") and shutil.which("nsenter")):
        pytest.skip("needs root, unshare and nsenter, to mount a /dev/shm of its own")
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _HOLD]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline() != "mounted\n":
            pytest.skip(f"cannot mount a /dev/shm: {holder.stderr.read().strip()}")
        yield OwnSharedMemory(holder.pid)
