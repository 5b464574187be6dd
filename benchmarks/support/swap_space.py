"""Swap space on a disk or on a device of remote memory, and groups with little memory. Needs root.

Remote memory becomes swap space without /dev/nbd: a loop device makes a block device of a file,
which the device's own process serves, or nbdfuse.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.device.device_start import StartedDevice
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.swap.swap_device import swap_down, swap_up
from motet.remote_memory.swap.swap_doors import LoopDoor
from support.memory_processes import DeviceProcess, started_device
from support.throttled_disk import Disk

_GROUPS = Path("/sys/fs/cgroup/memory")
_LIMIT = "memory.limit_in_bytes"
_STEP = 0.02
_WAKE_S, _WAKE_BYTES = 0.01, 128 << 10
_MOUNT_S = 10.0
_PRIORITY = "1000"
"""Before all other swap space: the programs use this one alone."""


@dataclass(frozen=True)
class MemoryGroup:
    """Processes with a limit of memory; what exceeds it is paged out. `changing`: held while the
    limit is written."""

    folder: Path
    changing: threading.Lock = field(default_factory=threading.Lock)

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
        limit_bytes = int((self.folder / _LIMIT).read_text())
        now_bytes = min(limit_bytes, int(self.used_bytes() * 1.1))
        while now_bytes > to_bytes:
            now_bytes = max(to_bytes, int(now_bytes * (1 - _STEP)))
            while not self._accepts(now_bytes):
                time.sleep(0.2)

    def wake_waiting(self) -> None:
        """Let programs that wait for memory look again: the kernel wakes them when they free some
        or the limit is raised, and not when what they wait for has been paged out."""
        if "under_oom 1" not in (self.folder / "memory.oom_control").read_text():
            return
        file = self.folder / _LIMIT
        with self.changing:
            limit_bytes = int(file.read_text())
            file.write_text(str(limit_bytes + _WAKE_BYTES))
            file.write_text(str(limit_bytes))

    def _accepts(self, limit_bytes: int) -> bool:
        with self.changing:
            try:
                (self.folder / _LIMIT).write_text(str(limit_bytes))
            except OSError:
                return False
        return True


@contextmanager
def memory_group(name: str) -> Iterator[MemoryGroup]:
    """A new group, whose programs must have ended at the end. Where paging out is slow, they wait
    for memory; the kernel kills none."""
    folder = _GROUPS / f"motet-{name}-{os.getpid()}"
    folder.mkdir()
    (folder / "memory.oom_control").write_text("1")
    group, ending = MemoryGroup(folder), threading.Event()
    waker = threading.Thread(target=_keep_awake, args=(group, ending), daemon=True)
    waker.start()
    try:
        yield group
    finally:
        while folder.exists():
            with contextlib.suppress(OSError):
                folder.rmdir()
            time.sleep(0.05)
        ending.set()
        waker.join()


def _keep_awake(group: MemoryGroup, ending: threading.Event) -> None:
    while not ending.wait(_WAKE_S):
        with contextlib.suppress(OSError):  # The group ends.
            group.wake_waiting()


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
def swap_device(
    folder: Path, settings: DeviceSettings, lenders: Sequence[str]
) -> Iterator[DeviceProcess]:
    """What `motet memory device up --swap` sets up where there is no /dev/nbd."""

    def start(home: MemoryFolder, place: DevicePlace, started: StartedDevice) -> int:
        swap = replace(started, is_swap=True, has_file=True)
        number, _ = swap_up(home, place, swap, LoopDoor(), int(_PRIORITY))
        return number

    with started_device(folder, settings, lenders, start) as device:
        try:
            yield device
        finally:
            swap_down(device.folder, device.place, force=False)


@contextmanager
def swap_through_nbdfuse(device: DeviceProcess, folder: Path) -> Iterator[None]:
    """A file that nbdfuse serves as a client of the device."""
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
