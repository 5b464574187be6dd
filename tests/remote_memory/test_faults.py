"""No wrong read while lenders are killed and stopped, slabs are evicted, and the device is stopped.

Writers own disjoint pages, so each knows what every page must contain. They use the block device's
socket; all processes but one lender are real ones. MOTET_FAULTS_S: how long (20 s).
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from marked_process import MarkedProcess, new_motet_process
from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.device.device_start import (
    StartedDevice,
    device_view,
    end_device,
    start_device,
)
from motet.remote_memory.device.lender_addresses import lender_at
from motet.remote_memory.device.memory_folder import MemoryFolder
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.transport import read_secret
from remote_memory_parts import PAGE
from versioned_writer import VersionedWriter, assert_right, summary
from waiting import wait_until

pytestmark = pytest.mark.soak

DURATION_S = float(os.environ.get("MOTET_FAULTS_S", "20"))
SLAB = 1 << 20
SLABS, WRITERS = 16, 4
PAGES = SLABS * SLAB // PAGE
MACHINE = 1 << 30


class Faults:
    """Lender processes that can be killed and stopped, one lender that evicts, and the device."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._random = random.Random(5)
        self.folder = MemoryFolder(folder / "device")
        secret = self.folder.secret()
        self._used_bytes = 0
        limits = PoolLimits(MACHINE, 0, SLAB, SLABS)
        settings = LenderSettings(limits, done_within_s=0.5)
        self.evicting: Lender | None = None
        self.evicting = stack.enter_context(Lender(settings, secret, self._free_bytes))
        self._places = [folder / f"lender-{number}" for number in range(2)]
        self._ports = [0, 0]
        self.lenders = [self._started(number) for number in range(2)]
        stack.callback(self._end_lenders)
        place = self.folder.device("swap")
        addresses = [str(self.evicting.endpoint), *(f"127.0.0.1:{port}" for port in self._ports)]
        started = StartedDevice(
            DeviceSettings(DeviceGeometry(SLABS * SLAB, SLAB), place.backup, 1.0, 4 << 20),
            tuple(map(lender_at, addresses)),
        )
        self.device = start_device(self.folder, place, started)
        self.place = place
        stack.callback(end_device, self.folder, place)
        assert read_secret(self.folder.secret_file) == secret

    def kill_a_lender(self) -> None:
        number = self._random.randrange(2)
        self._kill(number)
        self.lenders[number] = self._started(number)

    def stop_a_lender(self) -> None:
        self._stop(self._random.choice(self.lenders).process.pid, 3.0)

    def stop_the_device(self) -> None:
        """What is evicted meanwhile is revoked: all slabs of the only lender that is left."""
        assert self.evicting is not None
        self._need(0)
        for number in range(2):
            self._kill(number)
        wait_until(lambda: self.evicting is not None and self.evicting.view().mapped_slabs)
        meanwhile = threading.Timer(0.2, self.evict_all)
        meanwhile.start()
        self._stop(self.device, 2.5)
        meanwhile.join()
        self.lenders = [self._started(number) for number in range(2)]

    def evict(self) -> None:
        """The lender's machine needs its memory, or not any more."""
        self._need(self._random.choice((0, MACHINE - 3 * SLAB, MACHINE)))

    def _need(self, used_bytes: int) -> None:
        assert self.evicting is not None
        self._used_bytes = used_bytes
        for _ in range(30):  # The average reaches it.
            self.evicting.adjust()

    def evict_all(self) -> None:
        """The lender's machine needs all memory."""
        self._need(MACHINE)

    def one(self) -> None:
        self._random.choice(
            (self.kill_a_lender, self.stop_a_lender, self.stop_the_device, self.evict, self.evict)
        )()

    def _free_bytes(self) -> int:
        held_bytes = 0 if self.evicting is None else self.evicting.held_bytes
        return MACHINE - self._used_bytes - held_bytes

    def _kill(self, number: int) -> None:
        self.lenders[number].process.kill()
        self.lenders[number].process.wait()

    def _stop(self, process: int, longest_s: float) -> None:
        os.kill(process, signal.SIGSTOP)
        time.sleep(self._random.uniform(0.3, longest_s))
        os.kill(process, signal.SIGCONT)

    def _started(self, number: int) -> MarkedProcess:
        place = self._places[number]
        process = new_motet_process(
            *("memory", "lend", "--slab", str(SLAB), "--most", str(SLABS * SLAB)),
            *("--head-room", "1M", "--port", str(self._ports[number]), "--state-dir", place),
            *("--secret-file", self.folder.secret_file),
        )
        self._ports[number] = int(process.first_line().rpartition(":")[2])
        return process

    def _end_lenders(self) -> None:
        for number in range(2):
            self._kill(number)


@pytest.fixture
def faults() -> Iterator[Faults]:
    with tempfile.TemporaryDirectory(prefix="motet-") as name, ExitStack() as stack:
        yield Faults(Path(name), stack)


@pytest.mark.timeout(DURATION_S + 300)
def test_every_read_returns_the_last_write_whatever_fails(faults: Faults) -> None:
    ends = threading.Event()
    writers = [
        VersionedWriter(faults.place.socket, number, ends, pages=PAGES, writers=WRITERS)
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    until_s = time.monotonic() + DURATION_S
    while time.monotonic() < until_s and all(writer.is_alive() for writer in writers):
        faults.one()
        time.sleep(0.2)
    ends.set()
    for writer in writers:
        writer.join()
    view = device_view(faults.folder, faults.place)
    assert faults.evicting is not None
    print(  # noqa: T201 - the measurement
        f"{summary(writers)}, {view.evictions} evictions, "
        f"{faults.evicting.view().revoked} revoked, {view.read_remote_pages} pages read remotely, "
        f"{view.read_local_pages} locally"
    )
    assert_right(writers)
    assert view.evictions > 0
    assert view.read_remote_pages > 0
