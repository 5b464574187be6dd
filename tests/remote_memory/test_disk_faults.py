"""The disk of the backup fails and stops, while writers check every page that they read.

MOTET_FAULTS_S: how long (20 s).
"""

from __future__ import annotations

import math
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from faulty_disk import FaultyDisk, faulty_disk
from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.head_room import PoolLimits
from motet.remote_memory.device.device_start import (
    StartedDevice,
    device_view,
    end_device,
    start_device,
)
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.remote_memory.wire.memory_views import DeviceView
from nbd_client import FLUSH, READ, WRITE, NbdClient
from remote_memory_parts import PAGE
from versioned_writer import RUN_PAGES, VersionedWriter, assert_right, page_of, summary
from waiting import wait_until

pytestmark = pytest.mark.soak

DURATION_S = float(os.environ.get("MOTET_FAULTS_S", "20"))
SLAB, SLABS, WRITERS = 1 << 20, 16, 4
PAGES = SLABS * SLAB // PAGE
FIRST_VERSION = 1


class DeviceOnFaultyDisk:
    """A device process with a lender; little memory for writes that the disk does not have."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = MemoryFolder(folder / "device")
        self.place: DevicePlace = self.folder.device("swap")
        self.disk: FaultyDisk = stack.enter_context(faulty_disk(folder, SLABS * SLAB))
        limits = PoolLimits(1 << 30, 0, SLAB, SLABS)
        lender = stack.enter_context(
            Lender(LenderSettings(limits), self.folder.secret(), lambda: 1 << 29)
        )
        settings = DeviceSettings(
            DeviceGeometry(SLABS * SLAB, SLAB), self.disk.path, hot_slab=1.0, arena_bytes=SLAB
        )
        start_device(self.folder, self.place, StartedDevice(settings, (lender.endpoint,)))
        stack.callback(end_device, self.folder, self.place)
        self._random = random.Random(3)
        self._failing_until_s = -math.inf

    def view(self) -> DeviceView:
        return device_view(self.folder, self.place)

    def fill(self) -> None:
        """The lender has all pages, with the first version."""

        def is_remote() -> bool:
            for first in range(0, PAGES, RUN_PAGES):
                pages = range(first, first + RUN_PAGES)
                data = b"".join(page_of(page, FIRST_VERSION) for page in pages)
                assert client.call(WRITE, first * PAGE, data=data) == (0, b"")
            return self.view().remote_pages == PAGES

        with NbdClient(self.place.socket) as client:
            client.go()
            wait_until(is_remote)

    def fail(self) -> None:
        """For a moment, or until writes fail, too."""
        self._failing_until_s = math.inf
        self.disk.fail()
        time.sleep(self._random.choice((0.05, 0.5, 2.0)))
        self.disk.repair()
        with NbdClient(self.place.socket) as client:
            client.go()
            # What the disk has refused is told by now, and written again.
            wait_until(lambda: client.call(FLUSH)[0] == 0 and not self.view().disk_error)
        self._failing_until_s = time.monotonic()

    def failed_since(self, began_s: float) -> bool:
        """Whether the disk has failed since then."""
        return self._failing_until_s >= began_s

    def stop(self) -> None:
        """The lender's pages are read meanwhile, one of each slab."""
        self.disk.stop()
        try:
            time.sleep(self._random.uniform(0.2, 2.0))
            with NbdClient(self.place.socket) as client:
                client.go()
                for slab in range(SLABS):
                    error, _ = client.call(READ, slab * SLAB, PAGE)
                    assert error == 0
        finally:
            self.disk.resume()


@pytest.fixture
def device() -> Iterator[DeviceOnFaultyDisk]:
    with tempfile.TemporaryDirectory(prefix="motet-") as name, ExitStack() as stack:
        yield DeviceOnFaultyDisk(Path(name), stack)


@pytest.mark.timeout(DURATION_S + 300)
def test_pages_of_lenders_are_read_whatever_the_disk_does(device: DeviceOnFaultyDisk) -> None:
    """No read fails: a program that pages to the device would get a bus error."""
    device.fill()
    ends = threading.Event()
    writers = [
        VersionedWriter(
            device.place.socket,
            number,
            ends,
            pages=PAGES,
            writers=WRITERS,
            failed_since=device.failed_since,
            version=FIRST_VERSION,
        )
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    until_s = time.monotonic() + DURATION_S
    while time.monotonic() < until_s and all(writer.is_alive() for writer in writers):
        device.fail()
        device.stop()
    ends.set()
    for writer in writers:
        writer.join()
    view = device.view()
    print(  # noqa: T201 - the measurement
        f"{summary(writers)}, {view.read_remote_pages} pages read remotely, "
        f"{view.read_local_pages} locally"
    )
    assert_right(writers)
    assert sum(writer.failed_writes for writer in writers) > 0
    wait_until(lambda: device.view().pending_pages == 0)
