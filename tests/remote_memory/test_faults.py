"""No wrong read while lenders are killed and stopped, slabs are evicted, and the device is stopped.

Writers own disjoint pages, so each knows what every page must contain. They use the block device's
socket; all processes but one lender are real ones. MOTET_FAULTS_S: how long (20 s).
"""

from __future__ import annotations

import os
import random
import signal
import struct
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
from nbd_client import FLUSH, READ, WRITE, NbdClient
from remote_memory_parts import PAGE
from waiting import wait_until

pytestmark = pytest.mark.soak

DURATION_S = float(os.environ.get("MOTET_FAULTS_S", "20"))
SLAB = 1 << 20
SLABS, WRITERS = 16, 4
PAGES = SLABS * SLAB // PAGE
STAMP = struct.Struct("<QQ")
MACHINE = 1 << 30


def page_of(page: int, version: int) -> bytes:
    """A page that says which it is, everywhere."""
    return STAMP.pack(page, version) * (PAGE // STAMP.size) if version else bytes(PAGE)


class Writer(threading.Thread):
    """Writes and reads its pages: every WRITERS-th run of eight."""

    def __init__(self, socket: Path, number: int, ends: threading.Event) -> None:
        super().__init__(name=f"writer-{number}")
        self._socket, self._ends = socket, ends
        self._random = random.Random(number)
        runs = range(number, PAGES // 8, WRITERS)
        self._runs = [run * 8 for run in runs]
        self._versions = dict.fromkeys(range(PAGES), 0)
        self.wrong: list[str] = []
        self.failures: list[str] = []
        self.requests = 0
        self.longest_s = 0.0

    def run(self) -> None:
        try:
            with NbdClient(self._socket) as client:
                client.go()
                while not self._ends.is_set() and not self.wrong:
                    began_s = time.monotonic()
                    self._step(client)
                    self.longest_s = max(self.longest_s, time.monotonic() - began_s)
                    self.requests += 1
                for first in self._runs:
                    self._check(client, first, 8)
        except (OSError, AssertionError) as error:
            self.failures.append(repr(error))

    def _step(self, client: NbdClient) -> None:
        start = self._random.choice(self._runs)
        first = start + self._random.randrange(8)
        pages = self._random.randint(1, start + 8 - first)
        kind = self._random.random()
        if kind < 0.5:
            version = self.requests + 1
            data = b"".join(page_of(page, version) for page in range(first, first + pages))
            self._versions |= dict.fromkeys(range(first, first + pages), version)
            assert client.call(WRITE, first * PAGE, data=data) == (0, b"")
        elif kind < 0.99:
            self._check(client, first, pages)
        else:
            assert client.call(FLUSH) == (0, b"")

    def _check(self, client: NbdClient, first: int, pages: int) -> None:
        error, data = client.call(READ, first * PAGE, pages * PAGE)
        assert error == 0
        for place in range(pages):
            page = first + place
            found = data[place * PAGE : (place + 1) * PAGE]
            if found != page_of(page, self._versions[page]):
                got = STAMP.unpack_from(found)
                self.wrong.append(f"page {page}: {got}, expected {self._versions[page]}")


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
    writers = [Writer(faults.place.socket, number, ends) for number in range(WRITERS)]
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
        f"{sum(writer.requests for writer in writers)} requests, longest "
        f"{max(writer.longest_s for writer in writers):.2f} s, {view.evictions} evictions, "
        f"{faults.evicting.view().revoked} revoked, {view.read_remote_pages} pages read remotely, "
        f"{view.read_local_pages} locally"
    )
    assert [wrong for writer in writers for wrong in writer.wrong] == []
    assert [failure for writer in writers for failure in writer.failures] == []
    assert view.evictions > 0
    assert view.read_remote_pages > 0
