"""Placement, evictions and reconnection of a device, with real lenders."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest

from marked_process import motet_process
from motet.remote_memory.borrower import borrowed_memory, slab_store
from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory, DeviceSettings
from motet.remote_memory.borrower.lender_link import LenderLink
from motet.remote_memory.borrower.remote_operations import LenderWrite
from motet.remote_memory.borrower.store_operation import PageStore
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.pending_writes import PageBatch
from motet.remote_memory.device.lender_addresses import lender_at
from motet.remote_memory.device.memory_folder import MemoryFolder
from motet.transport import new_secret
from motet.transport.client.burst import Burst
from remote_memory_parts import (
    PAGE,
    SECRET,
    SLAB_BYTES,
    SLAB_PAGES,
    MovableMemory,
    borrowing,
    content,
    lending,
    read,
    write,
)
from waiting import wait_until


def test_a_busy_slab_gets_a_lender_and_an_idle_one_does_not(tmp_path: Path) -> None:
    with (
        lending() as lender,
        borrowing(tmp_path, [lender.endpoint], is_mapped=False) as memory,
    ):

        def used() -> bool:
            for _ in range(40):
                write(memory.store, SLAB_PAGES, content(1, SLAB_PAGES))
            return memory.view().mapped_slabs > 0

        read(memory.store, 0)
        wait_until(used)
        assert [memory.store.unmapped(slab) for slab in range(4)] == [True, False, True, True]


def test_a_burst_gets_a_lender_before_the_period_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages that are written before it, as a program's when its memory is first short, are read
    from the disk until they are written again."""
    monkeypatch.setattr(borrowed_memory, "PERIOD_S", 3600.0)
    with (
        lending() as lender,
        borrowing(tmp_path, [lender.endpoint], is_mapped=False) as memory,
    ):
        for _ in range(20):
            write(memory.store, SLAB_PAGES, content(1, SLAB_PAGES))
        wait_until(lambda: memory.view().mapped_slabs)
        assert [memory.store.unmapped(slab) for slab in range(4)] == [True, False, True, True]


def test_a_device_without_lenders_has_all_pages_on_the_disk(tmp_path: Path) -> None:
    with borrowing(tmp_path) as memory:
        write(memory.store, 2, content(1, 3))
        assert not memory.map_slab(0)
        assert read(memory.store, 2, 3) == content(1, 3)
        assert memory.view().mapped_slabs == 0


def test_an_evicted_slab_is_read_from_the_backup_and_its_memory_is_free(tmp_path: Path) -> None:
    machine = MovableMemory()
    with lending(4, memory=machine) as lender, borrowing(tmp_path, [lender.endpoint]) as memory:
        data = content(1, 4 * SLAB_PAGES)
        write(memory.store, 0, data)
        machine.leave(1)
        wait_until(lambda: lender.view().evicted == 3)
        assert memory.view().evictions == 3
        assert read(memory.store, 0, 4 * SLAB_PAGES) == data
        view = lender.view()
        assert (view.mapped_slabs, view.free_slabs, view.revoked) == (1, 0, 0)


def test_the_least_active_slabs_are_evicted(tmp_path: Path) -> None:
    machine = MovableMemory()
    with lending(4, memory=machine) as lender, borrowing(tmp_path, [lender.endpoint]) as memory:
        for _ in range(5):
            write(memory.store, 0, content(1, SLAB_PAGES))
            write(memory.store, 3 * SLAB_PAGES, content(1, SLAB_PAGES))
        memory.store.activity.advance(1.0)
        machine.leave(2)
        wait_until(lambda: lender.view().evicted == 2)
        assert [memory.store.unmapped(slab) for slab in range(4)] == [False, True, True, False]


def test_a_lender_that_comes_back_is_used_again(tmp_path: Path) -> None:
    """The original never reconnects."""
    with lending() as first:
        endpoint = first.endpoint
        with borrowing(tmp_path, [endpoint], slabs=1) as memory:
            write(memory.store, 0, content(1))
            first.close()
            wait_until(lambda: memory.view().away)
            assert read(memory.store, 0) == content(1)
            with lending(port=endpoint.port):
                wait_until(lambda: not memory.view().away)
                wait_until(lambda: memory.map_slab(0) or memory.view().mapped_slabs)
                write(memory.store, 0, content(2))
                assert memory.view().remote_pages == 1
                assert read(memory.store, 0) == content(2)


def test_a_lender_that_is_away_does_not_delay_the_others(tmp_path: Path) -> None:
    with lending() as gone:
        absent = gone.endpoint
    with (
        lending() as lender,
        borrowing(tmp_path, [absent, lender.endpoint], away=1) as memory,
    ):
        assert memory.store.mapped_by_lender() == {str(lender.endpoint): 4}
        assert "does the server still run" in memory.failures()[str(absent)]


def test_the_end_of_a_device_frees_its_slabs_at_the_lender(tmp_path: Path) -> None:
    with lending() as lender:
        with borrowing(tmp_path, [lender.endpoint]):
            assert lender.view().mapped_slabs == 4
        wait_until(lambda: lender.view().mapped_slabs == 0)
        assert lender.view().free_slabs == 8


def test_a_device_gets_no_more_than_its_quota(tmp_path: Path) -> None:
    with (
        lending(quota_slabs=2) as lender,
        borrowing(tmp_path, [lender.endpoint], is_mapped=False) as memory,
    ):
        assert [memory.map_slab(slab) for slab in range(4)] == [True, True, False, False]
        assert lender.view().free_slabs == 6
        write(memory.store, 2 * SLAB_PAGES, content(1))
        assert read(memory.store, 2 * SLAB_PAGES) == content(1)


def test_lenders_with_other_slabs_are_told_and_not_used(tmp_path: Path) -> None:
    settings = DeviceSettings(DeviceGeometry(64 * PAGE, 64 * PAGE), tmp_path / "backup")
    with lending() as lender, BorrowedMemory(settings, [lender.endpoint], SECRET, "d") as memory:
        wait_until(lambda: not memory.view().away)
        assert not memory.map_slab(0)
        (failure,) = memory.failures().values()
        assert "slabs of 32768 bytes there, 262144 here" in failure


def test_a_lender_with_another_secret_is_not_used(tmp_path: Path) -> None:
    settings = DeviceSettings(DeviceGeometry(PAGE, PAGE), tmp_path / "backup")
    with (
        lending() as lender,
        BorrowedMemory(settings, [lender.endpoint], new_secret(), "d") as memory,
    ):
        wait_until(memory.failures)
        assert "does not have this job's secret" in str(memory.failures())
        assert memory.view().away == (str(lender.endpoint),)


def test_a_device_that_grows_keeps_its_pages_and_has_lenders_for_new_slabs(tmp_path: Path) -> None:
    with lending(4) as lender, borrowing(tmp_path, [lender.endpoint], slabs=1) as memory:
        write(memory.store, 0, content(1, SLAB_PAGES))
        memory.extend(3 * SLAB_PAGES * PAGE)
        assert [memory.map_slab(slab) for slab in range(3)] == [False, True, True]
        write(memory.store, SLAB_PAGES, content(2, 2 * SLAB_PAGES))
        assert read(memory.store, 0, SLAB_PAGES) == content(1, SLAB_PAGES)
        assert read(memory.store, SLAB_PAGES, 2 * SLAB_PAGES) == content(2, 2 * SLAB_PAGES)
        assert memory.view().mapped_slabs == memory.view().slabs == 3
        assert memory.store.counters.read_local == 0
        memory.store.detach_all(str(lender.endpoint))
        assert read(memory.store, SLAB_PAGES, 2 * SLAB_PAGES) == content(2, 2 * SLAB_PAGES)


def test_the_first_answer_of_a_lender_can_be_waited_for(tmp_path: Path) -> None:
    with borrowing(tmp_path) as memory:
        assert not memory.wait_for_lender(0.0)
    with lending() as lender, borrowing(tmp_path, [lender.endpoint]) as memory:
        assert memory.wait_for_lender(10.0)


@pytest.fixture
def held_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """All writes to backups wait until it is set."""
    goes_on, write_file = threading.Event(), BackupFile.write

    def held(file: BackupFile, memory: memoryview, batch: PageBatch) -> None:
        goes_on.wait()
        write_file(file, memory, batch)

    monkeypatch.setattr(BackupFile, "write", held)
    yield goes_on
    goes_on.set()


def make_hot(store: PageStore, slab: int) -> None:
    """In the midst of a period."""
    into = memoryview(bytearray(SLAB_BYTES))
    for _ in range(20):
        store.begin_read(slab * SLAB_BYTES, into)


@pytest.mark.soak
@pytest.mark.cluster
def test_a_device_ends_while_a_stopped_lender_does_not_take_the_pages_it_is_given(
    tmp_path: Path, held_disk: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check of lenders, which has its turn only once a second."""
    monkeypatch.setattr(borrowed_memory, "PERIOD_S", 3600.0)
    is_given, submit = threading.Event(), LenderLink.submit_writes
    folder = MemoryFolder(tmp_path / "memory")
    secret = folder.secret()
    lender = motet_process(
        *("memory", "lend", "--slab", str(SLAB_BYTES), "--most", "1M", "--head-room", "1M"),
        *("--state-dir", tmp_path / "lender", "--secret-file", folder.secret_file),
    )
    address = lender_at(lender.first_line().rpartition(" ")[2])

    def stopped(link: LenderLink, writes: Sequence[LenderWrite]) -> Burst:
        os.kill(lender.process.pid, signal.SIGSTOP)
        process = psutil.Process(lender.process.pid)
        wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
        burst = submit(link, writes)
        is_given.set()
        return burst

    monkeypatch.setattr(LenderLink, "submit_writes", stopped)
    settings = DeviceSettings(DeviceGeometry(SLAB_BYTES, SLAB_BYTES), tmp_path / "backup")
    try:
        with BorrowedMemory(settings, [address], secret, "device") as memory:
            assert memory.wait_for_lender(300.0)
            data = content(1, SLAB_PAGES)
            memory.store.begin_write(0, memoryview(data))
            make_hot(memory.store, 0)
            assert is_given.wait(300.0)
            held_disk.set()
        assert (tmp_path / "backup").read_bytes() == data
    finally:
        lender.process.kill()
        lender.process.wait()


def test_a_slab_gets_a_lender_while_another_one_is_given_its_pages(
    tmp_path: Path, held_disk: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evictions are answered meanwhile, too: the same thread does all of it."""
    monkeypatch.setattr(borrowed_memory, "PERIOD_S", 3600.0)
    monkeypatch.setattr(slab_store, "_GIVEN_PAGES", 1)
    submit, is_unmapped = LenderLink.submit_writes, list[bool]()
    with (
        lending() as lender,
        borrowing(tmp_path, [lender.endpoint], is_mapped=False) as memory,
    ):
        store = memory.store

        def given(link: LenderLink, writes: Sequence[LenderWrite]) -> Burst:
            is_unmapped.append(store.unmapped(1))
            if len(is_unmapped) == 1:
                make_hot(store, 1)
            return submit(link, writes)

        monkeypatch.setattr(LenderLink, "submit_writes", given)
        store.begin_write(0, memoryview(content(1, SLAB_PAGES)))
        make_hot(store, 0)
        wait_until(lambda: store.remote_pages() == SLAB_PAGES)
        assert is_unmapped == [True] + [False] * (SLAB_PAGES - 1)
        assert read(store, 0, SLAB_PAGES) == content(1, SLAB_PAGES)
        held_disk.set()
