"""Lenders and devices of remote memory as processes, for the length of a measurement."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.device.device_start import (
    StartedDevice,
    device_view,
    end_device,
    lender_view,
    start_device,
)
from motet.remote_memory.device.lender_addresses import lender_at
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.wire.memory_views import DeviceView, LenderView

MOTET = (sys.executable, "-m", "motet.interfaces.cli")
PENDING = 64 << 20
HEAD_ROOM = "256M"


@dataclass
class LenderProcess:
    """`motet memory lend`."""

    address: str
    process: subprocess.Popen[str]
    _folder: MemoryFolder
    _secret: bytes

    def view(self) -> LenderView:
        """What it says of itself."""
        return lender_view(self._folder.lender, self._secret)

    def cpu_s(self) -> float:
        """CPU time until now."""
        return sum(psutil.Process(self.process.pid).cpu_times()[:2])

    def kill(self) -> None:
        """As a failure of its machine."""
        self.process.kill()
        self.process.wait()


@dataclass(frozen=True)
class DeviceProcess:
    """blockd. `socket`: of its block device."""

    pid: int
    folder: MemoryFolder
    place: DevicePlace

    @property
    def uri(self) -> str:
        """For clients of NBD."""
        return f"nbd+unix:///{self.place.name}?socket={self.place.socket}"

    def view(self) -> DeviceView:
        """What it says of itself."""
        return device_view(self.folder, self.place)

    def cpu_s(self) -> float:
        """CPU time until now."""
        return sum(psutil.Process(self.pid).cpu_times()[:2])


@contextmanager
def lender_processes(
    folder: Path,
    count: int,
    most_bytes: int,
    slab_bytes: int,
    *more: str,
    entering: Callable[[int, Sequence[str]], Sequence[str]] = lambda _, command: command,
    secret: Path | None = None,
) -> Iterator[list[LenderProcess]]:
    """Lenders that share one secret. `more`: options of `motet memory lend`. `entering`: the
    command that executes a lender's command on its host. `secret`: the folder of theirs."""
    shared = MemoryFolder(folder / "secret" if secret is None else secret)
    key = shared.secret()
    with ExitStack() as stack:
        found = []
        for number in range(count):
            place = MemoryFolder(folder / f"lender-{number}")
            command = [
                *(*MOTET, "memory", "lend", "--slab", str(slab_bytes)),
                *("--most", str(most_bytes), "--head-room", HEAD_ROOM, *more),
                *("--state-dir", str(place.path), "--secret-file", str(shared.secret_file)),
            ]
            process = subprocess.Popen(
                entering(number, command),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            stack.callback(_end, process)
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            found.append(LenderProcess(address, process, place, key))
        yield found


@contextmanager
def device_process(
    folder: Path,
    size_bytes: int,
    slab_bytes: int,
    lenders: Sequence[str],
    backup: Path,
    pending_bytes: int = PENDING,
) -> Iterator[DeviceProcess]:
    """A device of lenders at these addresses, which all answer; without any, the disk has all
    pages."""
    settings = DeviceSettings(
        DeviceGeometry(size_bytes, slab_bytes), backup, arena_bytes=pending_bytes
    )
    with started_device(folder, settings, lenders, start_device) as device:
        yield device


@contextmanager
def started_device(
    folder: Path,
    settings: DeviceSettings,
    lenders: Sequence[str],
    start: Callable[[MemoryFolder, DevicePlace, StartedDevice], int],
) -> Iterator[DeviceProcess]:
    """The same with any settings. `start`: starts it, and returns the number of its process."""
    place = MemoryFolder(folder / "device")
    place.secret()
    secret = folder / "secret" / "secret" if lenders else None
    device = place.device("swap")
    addresses = tuple(map(lender_at, lenders))
    number = start(place, device, StartedDevice(settings, addresses, secret))
    try:
        found = DeviceProcess(number, place, device)
        while found.view().away:
            time.sleep(0.05)
        yield found
    finally:
        end_device(place, device)
        settings.backup.unlink(missing_ok=True)


def load() -> str:
    """Of the machine now, for what is measured on a shared one."""
    return f"load {json.dumps(psutil.getloadavg()[0])}"


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    process.wait()
