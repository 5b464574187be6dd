"""Memory limits of processes: the group is found in both versions of the interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.live.slots.memory_groups import (
    GroupParent,
    group_parent,
    make_memory_group,
    remove_memory_group,
)

V1 = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup /c/memory cgroup rw,relatime,memory 0 0\n"
V2 = "proc /proc proc rw 0 0\ncgroup2 /c cgroup2 rw,nsdelegate 0 0\n"

UNIT = "/system.slice/motet.service"


@pytest.mark.parametrize(
    ("mounts", "own", "expected"),
    [
        (V1, "4:memory:/box/a\n1:cpu:/\n0::/\n", GroupParent(Path("/c/memory/box/a"), False)),
        (V1 + V2, "4:memory:/\n0::/init.scope\n", GroupParent(Path("/c/memory"), False)),
        (V2, f"0::{UNIT}/server\n", GroupParent(Path(f"/c{UNIT}"), True)),
        (V2, "0::/\n", GroupParent(Path("/c"), True)),
        ("proc /proc proc rw 0 0\n", "0::/\n", None),
    ],
)
def test_groups_lie_where_this_process_may_make_them(
    mounts: str, own: str, expected: GroupParent | None
) -> None:
    assert group_parent(mounts, own) == expected


def test_a_group_of_version_two_has_the_limit_and_dies_as_a_whole(tmp_path: Path) -> None:
    """A plain folder in the place of the kernel's: what is written, not what it means."""
    parent = GroupParent(tmp_path, is_unified=True)
    group = make_memory_group(Path("/state/attempts/1/1/rank-0"), 2**30, parent)
    assert group is not None
    folder = Path(group.folder)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory"
    assert (folder / "memory.max").read_text() == str(2**30)
    assert (folder / "memory.oom.group").read_text() == "1"
    assert group == make_memory_group(Path("/state/attempts/1/1/rank-0"), 2**30, parent)
    assert group != make_memory_group(Path("/state/attempts/1/1/rank-1"), 2**30, parent)


def test_without_permission_there_is_no_limit(tmp_path: Path) -> None:
    assert make_memory_group(Path("/rank-0"), 2**30, None) is None
    nowhere = GroupParent(tmp_path / "absent", is_unified=False)
    assert make_memory_group(Path("/rank-0"), 2**30, nowhere) is None
    remove_memory_group(str(tmp_path / "absent"))
