"""How much memory this process may still use: of its control groups and of the machine.

What the kernel can give up, the page cache, is not counted as used.

A job whose input is on disk looks at its memory more than a hundred times per second, beside the
threads that compute. So a look costs few system calls, after each of which a thread waits for the
interpreter again: files stay open, and only the fields that count are read.
"""

from __future__ import annotations

import os
import resource
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")
_NO_LIMIT = 1 << 60
_COUNTED_1: tuple[str, ...] = ("total_rss", "total_shmem")
_COUNTED_2 = ("anon", "shmem", "kernel_stack", "pagetables", "slab_unreclaimable", "sock")
_KERNEL_1 = "memory.kmem.usage_in_bytes"
_MOST_BYTES = 1 << 16
"""Of such a file; the kernel makes all of it for one read."""


@dataclass(frozen=True)
class MemoryState:
    """`limit_bytes`: of the group, or the machine, that has the least room; `free_bytes`: what is
    left of it. `major_faults`: pages that this process has read from disk until now."""

    limit_bytes: int
    free_bytes: int
    major_faults: int = 0


class MachineMemory:
    """Reads the state; the group is that in which the process was when this was made."""

    def __init__(
        self, groups: Path = _GROUPS, own_groups: Path = _OWN_GROUPS, memory: Path = _MEMORY
    ) -> None:
        """The places of the kernel's files; tests have their own."""
        self._memory = _KernelFile(memory)
        self._levels = [*_levels(groups, own_groups)]

    def state(self) -> MemoryState:
        """As it is now."""
        text = self._memory.read()
        found = [(_needed(text, b"MemTotal:") * 1024, _needed(text, b"MemAvailable:") * 1024)]
        for level in self._levels:
            limit = level.limit_bytes()
            if limit < found[0][0]:
                found.append((limit, limit - level.used_bytes()))
        limit, free = min(found, key=lambda each: each[1])
        return MemoryState(limit, max(free, 0), resource.getrusage(resource.RUSAGE_SELF).ru_majflt)

    def limited_by(self) -> tuple[int, int]:
        """The same for processes with the same limit: device and inode of their control group;
        zeros: the machine."""
        total = _needed(self._memory.read(), b"MemTotal:") * 1024
        limits = [(level.limit_bytes(), level.folder) for level in self._levels]
        limit, folder = min(limits, key=lambda each: each[0], default=(total, Path()))
        if limit >= total:
            return 0, 0
        found = folder.stat()
        return found.st_dev, found.st_ino


class _KernelFile:
    """A file whose text the kernel makes at each read; opened for the first one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def read(self) -> bytes:
        """All of it. Raises OSError."""
        if self._file is None:
            self._file = os.open(self._path, os.O_RDONLY)
            # At its end a process closes it anyway, maybe after a thread's last look.
            weakref.finalize(self, os.close, self._file).atexit = False
        return os.pread(self._file, _MOST_BYTES, 0)


class _Level:
    """A control group. `counted`: the fields of memory.stat that the kernel cannot give up."""

    def __init__(self, folder: Path, limit_file: str, counted: tuple[str, ...]) -> None:
        self.folder, self._counted = folder, tuple(f"{name} ".encode() for name in counted)
        self._limit = _KernelFile(folder / limit_file)
        self._stat = _KernelFile(folder / "memory.stat")
        self._kernel = _KernelFile(folder / _KERNEL_1)
        self._has_kernel = (folder / _KERNEL_1).exists()

    def limit_bytes(self) -> int:
        """_NO_LIMIT: there is none."""
        try:
            text = self._limit.read().strip()
        except OSError:  # The root group has no such file.
            return _NO_LIMIT
        return _NO_LIMIT if text == b"max" else int(text)

    def used_bytes(self) -> int:
        """Of all processes of the group."""
        text = self._stat.read()
        return sum(_field(text, name) or 0 for name in self._counted) + self._kernel_bytes()

    def _kernel_bytes(self) -> int:
        """What memory.stat of the first version leaves out: page tables and the like."""
        return int(self._kernel.read()) if self._has_kernel else 0


def _levels(groups: Path, own_groups: Path) -> Iterator[_Level]:
    """The own group and those that it is a part of, for both versions of the interface."""
    for line in own_groups.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            root, file, counted = groups / "memory", "memory.limit_in_bytes", _COUNTED_1
        elif not controllers:
            root, file, counted = groups, "memory.max", _COUNTED_2
        else:
            continue
        folder = root / path.lstrip("/")
        while True:
            if (folder / "memory.stat").exists():
                yield _Level(folder, file, counted)
            if folder == root or root not in folder.parents:
                break
            folder = folder.parent


def _needed(text: bytes, name: bytes) -> int:
    """Like `_field`. Raises KeyError."""
    found = _field(text, name)
    if found is None:
        raise KeyError(name.decode())
    return found


def _field(text: bytes, name: bytes) -> int | None:
    """The number of the line that begins with this name."""
    key = name if text.startswith(name) else b"\n" + name
    start = text.find(key)
    return int(text[start + len(key) :].split(None, 1)[0]) if start >= 0 else None
