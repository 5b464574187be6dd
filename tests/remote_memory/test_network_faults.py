"""Partitions, in one direction or both, and little bandwidth between a device and its lenders.

The device and two lenders are on hosts of a testbed; writers check every page that they read over
the device's socket. MOTET_FAULTS_S: how long (20 s).
"""

from __future__ import annotations

import itertools
import json
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from marked_process import MarkedProcess
from motet.remote_memory.device.memory_folder import MemoryFolder
from motet.testbed.hosts import Limits
from remote_memory_parts import PAGE
from testbed_hosts import MOTET, hosts, one_way_partition, said_on
from versioned_writer import VersionedWriter, assert_right, summary
from waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.testbed]

DURATION_S = float(os.environ.get("MOTET_FAULTS_S", "20"))
SLAB, SLABS, WRITERS = 1 << 20, 16, 4
PAGES = SLABS * SLAB // PAGE
PORT = 7400
BORROWER, LENDERS = "m0", ("m1", "m2")
FAST = Limits(bandwidth_bps=2 * 10**9)
LONGEST_S = 6.0


class NetworkFaults:
    """`kinds`: what happens, one after the other."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._random = random.Random(7)
        self._bed = stack.enter_context(hosts(1 + len(LENDERS), FAST))
        secret = MemoryFolder(folder / "device")
        secret.secret()
        self._options = ("--secret-file", str(secret.secret_file))
        addresses = [f"10.77.0.{number}:{PORT}" for number in (2, 3)]
        for host, address in zip(LENDERS, addresses, strict=True):
            self._lend(host, address, folder / host)
        self._device = ("--state-dir", str(secret.path))
        self.socket = secret.device("swap").socket
        lenders = [word for address in addresses for word in ("--lender", address)]
        self._memory(
            *("device", "up", "--size", str(SLABS * SLAB), "--slab", str(SLAB), *lenders),
            *("--hot-slab", "1", "--pending", "4M", *self._options),
        )
        self.kinds = (
            self.without_lender,
            self.without_requests,
            self.slow,
            self.without_answers,
            self.without_all,
        )

    def without_lender(self) -> None:
        self._cut(self._random.choice(LENDERS))

    def without_all(self) -> None:
        self._cut(BORROWER)

    def without_requests(self) -> None:
        """A lender's packets arrive at the device, but none the other way."""
        with one_way_partition(self._bed, BORROWER, self._random.choice(LENDERS)):
            self._pause()

    def without_answers(self) -> None:
        with one_way_partition(self._bed, self._random.choice(LENDERS), BORROWER):
            self._pause()

    def slow(self) -> None:
        limits = Limits(bandwidth_bps=self._random.choice((10**6, 10**7, 10**8)))
        self._bed.change([BORROWER], limits)
        self._pause()
        self._bed.change([BORROWER], FAST)

    def view(self) -> dict[str, Any]:
        (device,) = json.loads(self._memory("status", "--json"))["devices"]
        assert device["is_running"], device
        found: dict[str, Any] = device
        return found

    def _cut(self, host: str) -> None:
        self._bed.partition([host])
        self._pause()
        self._bed.heal([host])

    def _pause(self) -> None:
        time.sleep(self._random.uniform(0.3, LONGEST_S))

    def _memory(self, *words: str) -> str:
        return said_on(self._bed, BORROWER, *MOTET, "memory", *words, *self._device)

    def _lend(self, host: str, address: str, folder: Path) -> None:
        place, _, port = address.rpartition(":")
        command = (
            *(*MOTET, "memory", "lend", "--host", place, "--port", port, "--slab", str(SLAB)),
            *("--most", str(SLABS * SLAB), "--head-room", "1M", "--state-dir", str(folder)),
            *self._options,
        )
        process = MarkedProcess(self._bed.entering(host, command)[0])
        assert process.first_line() == f"lending at {address}"


@pytest.fixture
def network() -> Iterator[NetworkFaults]:
    with tempfile.TemporaryDirectory(prefix="motet-") as name, ExitStack() as stack:
        yield NetworkFaults(Path(name), stack)


@pytest.mark.timeout(DURATION_S + 300)
def test_every_read_is_right_and_none_fails_whatever_the_network_does(
    network: NetworkFaults,
) -> None:
    ends = threading.Event()
    writers = [
        VersionedWriter(network.socket, number, ends, pages=PAGES, writers=WRITERS)
        for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    until_s = time.monotonic() + DURATION_S
    for kind in itertools.cycle(network.kinds):
        if time.monotonic() > until_s or not all(writer.is_alive() for writer in writers):
            break
        kind()
        time.sleep(1.0)
    wait_until(lambda: not network.view()["away"])  # Recovered.
    before = network.view()["read_remote_pages"]
    wait_until(lambda: network.view()["read_remote_pages"] > before)
    ends.set()
    for writer in writers:
        writer.join()
    view = network.view()
    print(  # noqa: T201 - the measurement
        f"{summary(writers)}, {view['read_remote_pages']} pages read remotely, "
        f"{view['read_local_pages']} locally"
    )
    assert_right(writers)
