"""Control groups that enforce a host's limits, for both versions of the interface. Pure.

Returns folders, files and the texts to write into them. Every host has a group directly below the
root of each hierarchy, so no group of another owner changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from motet.domain.errors import BadInput
from motet.testbed.hosts import Limits

# The kernel's minimum: with longer periods, work that is shorter than a period is hardly throttled.
LEAST_QUOTA_US = 1_000
LEAST_PERIOD_US = 5_000
NEEDED = ("cpu", "memory")


@dataclass(frozen=True)
class FileWrite:
    """A text to write into a control file."""

    path: Path
    text: str


class ControlGroups(Protocol):
    """One version of the interface. `label`: the group's name."""

    def preparation(self) -> list[FileWrite]:
        """Return the writes that are necessary before groups can be created."""
        ...

    def folders(self, label: str) -> list[Path]:
        """Return the folders that make up the group."""
        ...

    def members_files(self, label: str) -> list[Path]:
        """Return the files into which a process writes its id to join the group."""
        ...

    def limits(self, label: str, limits: Limits) -> list[FileWrite]:
        """Return the writes that set the group's limits."""
        ...

    def memory_file(self, label: str) -> Path:
        """Return the file with the group's memory use in bytes."""
        ...

    def parents(self) -> list[Path]:
        """Return the folders that contain the groups."""
        ...


@dataclass(frozen=True)
class VersionOne:
    """Version one: a hierarchy per controller."""

    cpu: Path
    memory: Path

    def preparation(self) -> list[FileWrite]:
        """Return no writes: the controllers are always enabled."""
        return []

    def folders(self, label: str) -> list[Path]:
        """Return one folder per hierarchy; both controllers may share one."""
        return [parent / label for parent in self.parents()]

    def members_files(self, label: str) -> list[Path]:
        """Return `cgroup.procs` of each folder."""
        return [folder / "cgroup.procs" for folder in self.folders(label)]

    def limits(self, label: str, limits: Limits) -> list[FileWrite]:
        """Return the writes; -1 means no limit."""
        cpu, memory = self.cpu / label, self.memory / label
        return [
            FileWrite(cpu / "cpu.cfs_period_us", str(_period_us(limits))),
            FileWrite(cpu / "cpu.cfs_quota_us", str(_quota_us(limits) or -1)),
            FileWrite(memory / "memory.limit_in_bytes", str(limits.memory_bytes or -1)),
        ]

    def memory_file(self, label: str) -> Path:
        """Return the file; its value includes the page cache."""
        return self.memory / label / "memory.usage_in_bytes"

    def parents(self) -> list[Path]:
        """Return the mount points of the controllers."""
        return list(dict.fromkeys((self.cpu, self.memory)))


@dataclass(frozen=True)
class VersionTwo:
    """Version two: one hierarchy for all controllers."""

    root: Path

    def preparation(self) -> list[FileWrite]:
        """Enable the controllers for groups below the root."""
        wanted = " ".join(f"+{name}" for name in NEEDED)
        return [FileWrite(self.root / "cgroup.subtree_control", wanted)]

    def folders(self, label: str) -> list[Path]:
        """Return the only folder."""
        return [self.root / label]

    def members_files(self, label: str) -> list[Path]:
        """Return `cgroup.procs`."""
        return [self.root / label / "cgroup.procs"]

    def limits(self, label: str, limits: Limits) -> list[FileWrite]:
        """Return the writes; `max` means no limit."""
        folder = self.root / label
        return [
            FileWrite(folder / "cpu.max", f"{_quota_us(limits) or 'max'} {_period_us(limits)}"),
            FileWrite(folder / "memory.max", str(limits.memory_bytes or "max")),
        ]

    def memory_file(self, label: str) -> Path:
        """Return the file; its value includes the page cache."""
        return self.root / label / "memory.current"

    def parents(self) -> list[Path]:
        """Return the root."""
        return [self.root]


def find_control_groups(mounts: str) -> ControlGroups:
    """Detect the interface from the text of /proc/mounts. Raises BadInput.

    A machine may have both versions, with each controller in only one of them.
    """
    entries = [fields for line in mounts.splitlines() if len(fields := line.split()) >= 4]
    folders = {
        name: Path(folder)
        for _, folder, kind, options, *_ in entries
        if kind == "cgroup"
        for name in NEEDED
        if name in options.split(",")
    }
    if len(folders) == len(NEEDED):
        return VersionOne(folders["cpu"], folders["memory"])
    for _, folder, kind, *_ in entries:
        if kind == "cgroup2" and _has_controllers(Path(folder)):
            return VersionTwo(Path(folder))
    raise BadInput(
        "a testbed needs the cgroup controllers cpu and memory, and /proc/mounts shows none; "
        "mount cgroup2 at /sys/fs/cgroup, and in a container run it with --privileged"
    )


def group_labels(groups: ControlGroups) -> Iterable[str]:
    """Return the names of all groups in the folders that contain a testbed's groups."""
    return {
        child.name for parent in groups.parents() for child in parent.iterdir() if child.is_dir()
    }


def _has_controllers(root: Path) -> bool:
    try:
        found = (root / "cgroup.controllers").read_text(encoding="ascii").split()
    except OSError:
        return False
    return set(NEEDED) <= set(found)


def _quota_us(limits: Limits) -> int | None:
    return None if limits.cpus is None else round(limits.cpus * _period_us(limits))


def _period_us(limits: Limits) -> int:
    if limits.cpus is None:
        return LEAST_PERIOD_US
    return max(LEAST_PERIOD_US, math.ceil(LEAST_QUOTA_US / limits.cpus))
