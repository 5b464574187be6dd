"""Control groups that limit the memory of a process and of all that it starts, where permitted.

A group lies below the control group of the launcher (version one), or beside it (version two, where
a group with processes cannot have groups with limits): below the group that systemd delegates to
the unit of the server. Without the permission there is no limit.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MOUNTS, _OWN_GROUPS = Path("/proc/mounts"), Path("/proc/self/cgroup")
_CONTROLLER = "memory"


@dataclass(frozen=True, slots=True)
class GroupParent:
    """Where groups can be made. `is_unified`: in version two of the interface."""

    folder: Path
    is_unified: bool


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """`procs`: a process joins by writing its id there. `events`: has the number of kills."""

    folder: str
    procs: str
    events: str
    limit_bytes: int


def group_parent(mounts: str | None = None, own_groups: str | None = None) -> GroupParent | None:
    """From the texts of /proc/mounts and /proc/self/cgroup; None: memory is not controlled."""
    mounts = _MOUNTS.read_text() if mounts is None else mounts
    own = _own_paths(_OWN_GROUPS.read_text() if own_groups is None else own_groups)
    for _, folder, kind, options, *_ in map(str.split, mounts.splitlines()):
        if kind == "cgroup" and _CONTROLLER in options.split(",") and _CONTROLLER in own:
            return GroupParent(_below(folder, own[_CONTROLLER]), is_unified=False)
    for _, folder, kind, *_ in map(str.split, mounts.splitlines()):
        if kind == "cgroup2" and "" in own:
            place = _below(folder, own[""])
            return GroupParent(place if own[""] == "/" else place.parent, is_unified=True)
    return None


def make_memory_group(
    rank_folder: Path, limit_bytes: int, parent: GroupParent | None
) -> MemoryGroup | None:
    """The group of a process, by its folder; None: it is not permitted."""
    if parent is None:
        return None
    group = parent.folder / _name(rank_folder)
    limit, events = "memory.limit_in_bytes", "memory.oom_control"
    try:
        if parent.is_unified:
            limit, events = "memory.max", "memory.events"
            (parent.folder / "cgroup.subtree_control").write_text(f"+{_CONTROLLER}")
        group.mkdir(exist_ok=True)
        (group / limit).write_text(str(limit_bytes))
        if parent.is_unified:
            (group / "memory.oom.group").write_text("1")
    except OSError:
        with suppress(OSError):
            group.rmdir()
        return None
    return MemoryGroup(str(group), str(group / "cgroup.procs"), str(group / events), limit_bytes)


def remove_memory_group(folder: str) -> None:
    """Remove a group without processes; it may be gone."""
    with suppress(OSError):
        os.rmdir(folder)


def _own_paths(text: str) -> dict[str, str]:
    """The path of this process by controller; of version two under the empty name."""
    found = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        found.update(dict.fromkeys(controllers.split(","), path))
    return found


def _below(mount: str, path: str) -> Path:
    return Path(mount) / path.lstrip("/")


def _name(rank_folder: Path) -> str:
    """Unique on a machine: servers have attempts with the same numbers."""
    digest = hashlib.sha256(str(rank_folder).encode()).hexdigest()[:16]
    return f"motet-process-{digest}"
