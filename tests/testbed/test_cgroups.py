from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.testbed.cgroups import FileWrite, VersionOne, VersionTwo, find_control_groups
from motet.testbed.hosts import Limits

ROOT = Path("/sys/fs/cgroup")
SPLIT = """
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
"""
JOINED = "cgroup /cg/all cgroup rw,cpuacct,cpu,memory 0 0"
LIMITS = Limits(cpus=0.2, memory_bytes=512_000_000)


def test_version_one_is_found_whether_or_not_controllers_share_a_hierarchy() -> None:
    assert find_control_groups(SPLIT) == VersionOne(ROOT / "cpu", ROOT / "memory")
    joined = find_control_groups(JOINED)
    assert joined.folders("a") == [Path("/cg/all/a")]


def test_version_two_is_found_if_it_has_the_controllers(tmp_path: Path) -> None:
    mounts = f"cgroup2 {tmp_path} cgroup2 rw 0 0"
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    assert find_control_groups(mounts) == VersionTwo(tmp_path)

    (tmp_path / "cgroup.controllers").write_text("pids\n")
    with pytest.raises(BadInput, match="controllers cpu and memory"):
        find_control_groups(mounts)


def test_version_one_limits_a_quota_of_a_period_and_bytes() -> None:
    groups = VersionOne(ROOT / "cpu", ROOT / "memory")
    assert groups.limits("a", LIMITS) == [
        FileWrite(ROOT / "cpu/a/cpu.cfs_period_us", "5000"),
        FileWrite(ROOT / "cpu/a/cpu.cfs_quota_us", "1000"),
        FileWrite(ROOT / "memory/a/memory.limit_in_bytes", "512000000"),
    ]
    assert [it.text for it in groups.limits("a", Limits())] == ["5000", "-1", "-1"]
    assert groups.members_files("a") == [
        ROOT / "cpu/a/cgroup.procs",
        ROOT / "memory/a/cgroup.procs",
    ]


def test_version_two_limits_a_quota_of_a_period_and_bytes() -> None:
    groups = VersionTwo(ROOT)
    assert groups.preparation() == [FileWrite(ROOT / "cgroup.subtree_control", "+cpu +memory")]
    assert groups.limits("a", LIMITS) == [
        FileWrite(ROOT / "a/cpu.max", "1000 5000"),
        FileWrite(ROOT / "a/memory.max", "512000000"),
    ]
    assert [it.text for it in groups.limits("a", Limits())] == ["max 5000", "max"]
    assert groups.folders("a") == [ROOT / "a"]
    assert groups.members_files("a") == [ROOT / "a/cgroup.procs"]
    assert groups.memory_file("a") == ROOT / "a/memory.current"
