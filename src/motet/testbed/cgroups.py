"""Control groups that hold a host's processes to its limits, in both versions of the interface.

Pure: says which folders and files there are and what to write into them. Every host has a group
right below the root of each hierarchy, so no group of another owner is touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from motet.domain.errors import BadInput
from motet.testbed.hosts import Limits

# As short as the kernel lets them be, so that a throttled host looks like a slow one and not like
# one that stops and goes: work that is shorter than a period would hardly be slowed at all.
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
        """What must hold before any group is made."""
        ...

    def folders(self, label: str) -> list[Path]:
        """Folders that make up the group: to make, and to remove."""
        ...

    def members_files(self, label: str) -> list[Path]:
        """A process that writes its number into all of them is in the group."""
        ...

    def limits(self, label: str, limits: Limits) -> list[FileWrite]:
        """What holds the group to its limits."""
        ...

    def memory_file(self, label: str) -> Path:
        """Holds the bytes that the group uses."""
        ...

    def parents(self) -> list[Path]:
        """Folders in which groups lie."""
        ...


@dataclass(frozen=True)
class VersionOne:
    """A hierarchy per controller."""

    cpu: Path
    memory: Path

    def preparation(self) -> list[FileWrite]:
        """Nothing."""
        return []

    def folders(self, label: str) -> list[Path]:
        """One per hierarchy; both controllers may share one."""
        return [parent / label for parent in self.parents()]

    def members_files(self, label: str) -> list[Path]:
        """`cgroup.procs` of each."""
        return [folder / "cgroup.procs" for folder in self.folders(label)]

    def limits(self, label: str, limits: Limits) -> list[FileWrite]:
        """-1 stands for no limit."""
        cpu, memory = self.cpu / label, self.memory / label
        return [
            FileWrite(cpu / "cpu.cfs_period_us", str(_period_us(limits))),
            FileWrite(cpu / "cpu.cfs_quota_us", str(_quota_us(limits) or -1)),
            FileWrite(memory / "memory.limit_in_bytes", str(limits.memory_bytes or -1)),
        ]

    def memory_file(self, label: str) -> Path:
        """Includes the page cache."""
        return self.memory / label / "memory.usage_in_bytes"

    def parents(self) -> list[Path]:
        """Where the controllers are mounted."""
        return list(dict.fromkeys((self.cpu, self.memory)))


@dataclass(frozen=True)
class VersionTwo:
    """One hierarchy for all controllers."""

    root: Path

    def preparation(self) -> list[FileWrite]:
        """Groups below the root have these controllers."""
        wanted = " ".join(f"+{name}" for name in NEEDED)
        return [FileWrite(self.root / "cgroup.subtree_control", wanted)]

    def folders(self, label: str) -> list[Path]:
        """One."""
        return [self.root / label]

    def members_files(self, label: str) -> list[Path]:
        """`cgroup.procs`."""
        return [self.root / label / "cgroup.procs"]

    def limits(self, label: str, limits: Limits) -> list[FileWrite]:
        """`max` stands for no limit."""
        folder = self.root / label
        return [
            FileWrite(folder / "cpu.max", f"{_quota_us(limits) or 'max'} {_period_us(limits)}"),
            FileWrite(folder / "memory.max", str(limits.memory_bytes or "max")),
        ]

    def memory_file(self, label: str) -> Path:
        """Includes the page cache."""
        return self.root / label / "memory.current"

    def parents(self) -> list[Path]:
        """The root."""
        return [self.root]


def find_control_groups(mounts: str) -> ControlGroups:
    """The interface that this machine has, from the text of /proc/mounts. Raises BadInput.

    Version one where it has the controllers: a machine may have both, and a controller is only
    in one of them.
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
    """Names of all groups that lie where a testbed's do."""
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
