"""Swap space on a disk or on a device of remote memory, and groups with little memory. Needs root.

Remote memory becomes swap space without /dev/nbd: nbdfuse makes a file of the device, a loop device
makes a block device of the file.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.memory_processes import DeviceProcess
from support.throttled_disk import Disk

_GROUPS = Path("/sys/fs/cgroup/memory")
_STEP = 0.02
_MOUNT_S = 10.0
_PRIORITY = "1000"
"""Before all other swap space: the programs use this one alone."""


@dataclass(frozen=True)
class MemoryGroup:
    """Processes with a limit of memory; what exceeds it is paged out."""

    folder: Path

    def start(self, command: Sequence[str | Path], **more: Any) -> subprocess.Popen[bytes]:
        """Start a program in the group. `more`: of Popen."""
        return subprocess.Popen(self.entering(command), stdout=subprocess.DEVNULL, **more)

    def entering(self, command: Sequence[str | Path]) -> list[str]:
        """The command that joins the group and becomes the program."""
        enter = f'echo $$ > {self.folder / "cgroup.procs"} && exec "$@"'
        return ["sh", "-c", enter, "sh", *map(str, command)]

    def used_bytes(self) -> int:
        """Memory of the programs, in memory or paged out, without what the page cache has."""
        lines = (self.folder / "memory.stat").read_text().splitlines()
        fields = {name: int(value) for name, value in map(str.split, lines)}
        return fields["rss"] + fields["swap"] + fields["shmem"]

    def limit(self, to_bytes: int) -> None:
        """Lower the limit in small steps: the kernel refuses what it cannot page out at once."""
        file = self.folder / "memory.limit_in_bytes"
        now_bytes = min(int(file.read_text()), int(self.used_bytes() * 1.1))
        while now_bytes > to_bytes:
            now_bytes = max(to_bytes, int(now_bytes * (1 - _STEP)))
            while True:
                try:
                    file.write_text(str(now_bytes))
                except OSError:
                    time.sleep(0.2)
                else:
                    break


@contextmanager
def memory_group(name: str) -> Iterator[MemoryGroup]:
    """A new group, whose programs must have ended at the end. Where paging out is slow, they wait
    for memory; the kernel kills none."""
    folder = _GROUPS / f"motet-{name}-{os.getpid()}"
    folder.mkdir()
    (folder / "memory.oom_control").write_text("1")
    try:
        yield MemoryGroup(folder)
    finally:
        while folder.exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
            time.sleep(0.05)


@contextmanager
def swap_on_disk(disk: Disk, size_bytes: int) -> Iterator[None]:
    """A swap file."""
    path = disk.path / "swap"
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    path.chmod(0o600)
    with _swap_on(str(path)):
        yield
    path.unlink()


@contextmanager
def swap_on_device(device: DeviceProcess, folder: Path) -> Iterator[None]:
    """The block device of remote memory."""
    mounted = folder / "fuse"
    mounted.mkdir(exist_ok=True)
    file = mounted / "swap"
    door = subprocess.Popen(["nbdfuse", "-C", "4", file, device.uri])
    try:
        until_s = time.monotonic() + _MOUNT_S
        while not file.exists() and time.monotonic() < until_s:
            time.sleep(0.02)
        loop = _run("losetup", "--find", "--show", "--direct-io=on", str(file)).strip()
        try:
            with _swap_on(loop):
                yield
        finally:
            _run("losetup", "--detach", loop)
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=False)
        door.terminate()
        door.wait()


@contextmanager
def _swap_on(target: str) -> Iterator[None]:
    _run("mkswap", target)
    _run("swapon", "--priority", _PRIORITY, target)
    try:
        yield
    finally:
        _run("swapoff", target)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
