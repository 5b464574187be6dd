"""A limit for the disk below a folder, for processes that join (control groups, version 1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from motet.domain.errors import BadInput

DISK_GROUPS = Path("/sys/fs/cgroup/blkio")
"""Control groups for block devices, version 1."""


class ThrottledDisk:
    """Processes that join share the limit."""

    def __init__(self, group: Path) -> None:
        self._group = group

    def join(self, process: int) -> None:
        """With all processes that it starts from now on."""
        (self._group / "cgroup.procs").write_text(str(process))


@contextmanager
def throttled_disk(folder: Path, mb_per_s: int, iops: int) -> Iterator[ThrottledDisk]:
    """Reads and writes each have this limit. Raises BadInput: it cannot be set here."""
    device = os.stat(folder).st_dev
    group = DISK_GROUPS / f"motet-benchmark-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise BadInput(f"{group}: no limit for disks can be set here: {error.strerror}") from error
    try:
        limit_disk(group, device, bytes_per_s=mb_per_s * 10**6, iops=iops)
        yield ThrottledDisk(group)
    except OSError as error:
        raise BadInput(f"{folder}: its disk has no limit: {error.strerror}") from error
    finally:
        _remove(group)


def limit_disk(group: Path, device: int, *, bytes_per_s: int, iops: int) -> None:
    """Reads and writes of a group each have this limit; 0: none. Raises OSError."""
    number = f"{os.major(device)}:{os.minor(device)}"
    for way in ("read", "write"):
        for name, value in (("bps", bytes_per_s), ("iops", iops)):
            (group / f"blkio.throttle.{way}_{name}_device").write_text(f"{number} {value}")


def _remove(group: Path) -> None:
    """Processes that still run there go to the group above it."""
    for process in (group / "cgroup.procs").read_text().split():
        (group.parent / "cgroup.procs").write_text(process)
    group.rmdir()
