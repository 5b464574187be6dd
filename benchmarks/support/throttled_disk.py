"""A file system whose device has few requests per second, as disks have. Needs Linux and root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.limited_disk import DISK_GROUPS, limit_disk

_MEASURED_S = 2
READ_IOPS, READ_MB_S = 500, 100
"""A small volume of a cloud; a hard disk has fewer."""


@dataclass(frozen=True)
class Disk:
    """`path`: where it is mounted, or a folder of this machine's disk."""

    name: str
    path: Path

    def iops(self) -> float:
        """Random reads of 4 KiB that it answers per second, 32 at a time, past the page cache."""
        file = self.path / "fio"
        done = subprocess.run(
            [
                *("fio", "--name=x", "--ioengine=libaio", f"--filename={file}", "--size=64M"),
                *("--rw=randread", "--bs=4k", "--iodepth=32", "--direct=1", "--time_based"),
                *(f"--runtime={_MEASURED_S}", "--output-format=json"),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        file.unlink()
        (job,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
        return float(job["read"]["iops"])


@contextmanager
def throttled_disk(
    folder: Path, size_bytes: int, iops: int = READ_IOPS, mb_s: int = READ_MB_S
) -> Iterator[Disk]:
    """A new file system on a loop device, with these limits for reads and for writes."""
    image, mounted = folder / "disk.img", folder / "disk"
    with image.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    loop = _run("losetup", "--find", "--show", "--direct-io=on", str(image)).strip()
    try:
        _run("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0", loop)
        mounted.mkdir()
        _run("mount", loop, str(mounted))
        try:
            _throttle(loop, iops, mb_s << 20)
            yield Disk(f"disk, {iops} IOPS", mounted)
        finally:
            _throttle(loop, 0, 0)
            _run("umount", str(mounted))
    finally:
        _run("losetup", "--detach", loop)
        image.unlink()


def is_measurable(*programs: str) -> bool:
    """Whether this machine can run the measurement; says on stderr what it lacks. `programs`: of
    Debian packages of the same name."""
    lacks = [name for name in ("fio", *programs) if shutil.which(name) is None]
    if os.geteuid():
        lacks.append("root")
    if not (DISK_GROUPS / "blkio.throttle.read_iops_device").exists():
        lacks.append("control groups of version 1")
    if lacks:
        print(f"not measured; needs {', '.join(lacks)}", file=sys.stderr)
    return not lacks


def _throttle(device: str, iops: int, bytes_s: int) -> None:
    """Of all processes without a group of their own for block devices. 0: no limit."""
    for group in {DISK_GROUPS, _own_group()}:
        limit_disk(group, os.stat(device).st_rdev, bytes_per_s=bytes_s, iops=iops)


def _own_group() -> Path:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "blkio" in controllers.split(","):
            return DISK_GROUPS / path.lstrip("/")
    return DISK_GROUPS


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
