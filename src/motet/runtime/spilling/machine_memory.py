"""How much memory this process may still use: of its control groups and of the machine.

What the kernel can give up, the page cache, is not counted as used.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")
_NO_LIMIT = 1 << 60
_COUNTED_1: tuple[str, ...] = ("total_rss", "total_shmem")
_COUNTED_2 = ("anon", "shmem", "kernel_stack", "pagetables", "slab_unreclaimable", "sock")
_KERNEL_1 = "memory.kmem.usage_in_bytes"


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
        self._memory = memory
        self._levels = [*_levels(groups, own_groups)]

    def state(self) -> MemoryState:
        """As it is now."""
        fields = dict(_table(self._memory, ":"))
        found = [(fields["MemTotal"] * 1024, fields["MemAvailable"] * 1024)]
        for level in self._levels:
            limit = level.limit_bytes()
            if limit < found[0][0]:
                found.append((limit, limit - level.used_bytes()))
        limit, free = min(found, key=lambda each: each[1])
        return MemoryState(limit, max(free, 0), resource.getrusage(resource.RUSAGE_SELF).ru_majflt)

    def limited_by(self) -> tuple[int, int]:
        """The same for processes with the same limit: device and inode of their control group;
        zeros: the machine."""
        total = dict(_table(self._memory, ":"))["MemTotal"] * 1024
        limits = [(level.limit_bytes(), level.folder) for level in self._levels]
        limit, folder = min(limits, key=lambda each: each[0], default=(total, Path()))
        if limit >= total:
            return 0, 0
        found = folder.stat()
        return found.st_dev, found.st_ino


@dataclass(frozen=True)
class _Level:
    """A control group. `counted`: the fields of memory.stat that the kernel cannot give up."""

    folder: Path
    limit_file: str
    counted: tuple[str, ...]

    def limit_bytes(self) -> int:
        """_NO_LIMIT: there is none."""
        try:
            text = (self.folder / self.limit_file).read_text().strip()
        except OSError:  # The root group has no such file.
            return _NO_LIMIT
        return _NO_LIMIT if text == "max" else int(text)

    def used_bytes(self) -> int:
        """Of all processes of the group."""
        fields = dict(_table(self.folder / "memory.stat", " "))
        return sum(fields.get(name, 0) for name in self.counted) + self._kernel_bytes()

    def _kernel_bytes(self) -> int:
        """What memory.stat of the first version leaves out: page tables and the like."""
        try:
            return int((self.folder / _KERNEL_1).read_text())
        except OSError:
            return 0


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


def _table(file: Path, separator: str) -> Iterator[tuple[str, int]]:
    for line in file.read_text().splitlines():
        name, _, value = line.partition(separator)
        yield name, int(value.split()[0])
