"""A device with two replicas, as processes: a lender that is killed costs no read from the disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from marked_process import MarkedProcess, new_motet_process
from motet.remote_memory.borrower.borrowed_memory import DeviceSettings
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.device.device_start import (
    StartedDevice,
    device_view,
    end_device,
    start_device,
)
from motet.remote_memory.device.lender_addresses import lender_at
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.wire.memory_views import DeviceView
from nbd_client import READ, WRITE, NbdClient
from remote_memory_parts import PAGE, content
from waiting import wait_until

pytestmark = pytest.mark.soak

SLAB, SLABS = 1 << 20, 4
RUN = 32
RUNS = SLABS * SLAB // PAGE // RUN


class Cluster:
    """Three lender processes, and a device process with two replicas of each slab."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.folder = MemoryFolder(path / "device")
        self.folder.secret()
        self.lenders = dict(self._lender(path / f"lender-{number}", stack) for number in range(3))
        self.place: DevicePlace = self.folder.device("swap")
        settings = DeviceSettings(
            DeviceGeometry(SLABS * SLAB, SLAB), self.place.backup, 1.0, 4 << 20, replicas=2
        )
        start_device(
            self.folder, self.place, StartedDevice(settings, tuple(map(lender_at, self.lenders)))
        )
        stack.callback(end_device, self.folder, self.place)

    def _lender(self, state: Path, stack: ExitStack) -> tuple[str, MarkedProcess]:
        process = new_motet_process(
            *("memory", "lend", "--slab", str(SLAB), "--most", str(2 * SLABS * SLAB)),
            *("--head-room", "1M", "--state-dir", state),
            *("--secret-file", self.folder.secret_file),
        )
        stack.callback(self.kill, process)
        return process.first_line().rpartition(" ")[2], process

    def kill(self, process: MarkedProcess) -> None:
        process.process.kill()
        process.process.wait()

    def view(self) -> DeviceView:
        return device_view(self.folder, self.place)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="motet-") as name, ExitStack() as stack:
        yield Cluster(Path(name), stack)


def fill(client: NbdClient) -> None:
    for run in range(RUNS):
        assert client.call(WRITE, run * RUN * PAGE, data=content(run, RUN)) == (0, b"")


def check(client: NbdClient) -> None:
    for run in range(RUNS):
        assert client.call(READ, run * RUN * PAGE, RUN * PAGE) == (0, content(run, RUN))


def test_killed_lenders_cost_no_read_from_the_disk_and_pages_are_replicated_again(
    cluster: Cluster,
) -> None:
    with NbdClient(cluster.place.socket) as client:
        client.go()

        def has_replicas() -> bool:
            fill(client)  # Until the slabs are hot; pages written before are on the disk alone.
            return cluster.view().replicated_pages == RUNS * RUN

        wait_until(has_replicas)
        before = cluster.view().read_local_pages
        for address, process in list(cluster.lenders.items())[:2]:
            cluster.kill(process)
            check(client)
            view = cluster.view()
            assert view.read_local_pages == before
            assert view.remote_pages == RUNS * RUN
            if address != list(cluster.lenders)[1]:
                wait_until(lambda: cluster.view().replicated_pages == RUNS * RUN)
        assert cluster.view().repaired_pages > 0
