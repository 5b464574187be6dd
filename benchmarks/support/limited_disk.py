"""A limit for the disk below a folder, for processes that join (control groups, version 1)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from motet.domain.errors import BadInput

_GROUPS = Path("/sys/fs/cgroup/blkio")


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
    name = f"{os.major(device)}:{os.minor(device)}"
    group = _GROUPS / f"motet-benchmark-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise BadInput(f"{group}: no limit for disks can be set here: {error.strerror}") from error
    try:
        for kind in ("read", "write"):
            (group / f"blkio.throttle.{kind}_bps_device").write_text(f"{name} {mb_per_s * 10**6}")
            (group / f"blkio.throttle.{kind}_iops_device").write_text(f"{name} {iops}")
        yield ThrottledDisk(group)
    except OSError as error:
        raise BadInput(f"{folder}: its disk has no limit: {error.strerror}") from error
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    """Processes that still run there go to the group above it."""
    for process in (group / "cgroup.procs").read_text().split():
        (group.parent / "cgroup.procs").write_text(process)
    group.rmdir()
