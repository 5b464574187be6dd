"""Requests to a device with real lenders: where pages are, and that every read is right."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.core.pending_writes import PageBatch
from motet.remote_memory.lender.lender import Lender
from remote_memory_parts import (
    ARENA_PAGES,
    PAGE,
    SLAB_PAGES,
    borrowing,
    content,
    lending,
    read,
    write,
)
from waiting import wait_until


@pytest.fixture
def two_lenders() -> Iterator[tuple[Lender, Lender]]:
    with lending() as first, lending() as second:
        yield first, second


@pytest.fixture
def memory(tmp_path: Path, two_lenders: tuple[Lender, Lender]) -> Iterator[BorrowedMemory]:
    with borrowing(tmp_path, [each.endpoint for each in two_lenders]) as found:
        yield found


def test_a_page_that_was_written_is_read_from_its_lender(memory: BorrowedMemory) -> None:
    store = memory.store
    write(store, 3, content(1))
    assert store.remote_pages() == 1
    assert read(store, 3) == content(1)
    assert (store.counters.read_remote, store.counters.read_local) == (1, 0)


def test_slabs_of_a_device_are_spread_over_its_lenders(memory: BorrowedMemory) -> None:
    assert sorted(memory.store.mapped_by_lender().values()) == [2, 2]


def test_pages_that_nobody_wrote_are_zero(memory: BorrowedMemory) -> None:
    assert read(memory.store, 0, 4 * SLAB_PAGES) == bytes(4 * SLAB_PAGES * PAGE)


def test_a_request_that_crosses_slabs_reaches_the_lenders_of_all(memory: BorrowedMemory) -> None:
    """In the original such batches go to the disk alone."""
    store, data = memory.store, content(2, 2 * SLAB_PAGES)
    write(store, SLAB_PAGES // 2, data)
    assert store.remote_pages() == 2 * SLAB_PAGES
    assert read(store, SLAB_PAGES // 2, 2 * SLAB_PAGES) == data
    assert store.counters.read_local == 0


def test_activity_counts_pages_not_requests(memory: BorrowedMemory) -> None:
    """The original counts requests."""
    activity = memory.store.activity
    before = activity.rates[0]
    write(memory.store, 0, content(3, 5))
    activity.advance(1.0)
    assert activity.rates[0] - 0.8 * before == pytest.approx(1.0)


def test_a_read_of_pages_that_are_only_partly_remote_is_complete(
    tmp_path: Path, two_lenders: tuple[Lender, Lender]
) -> None:
    with borrowing(tmp_path, [two_lenders[0].endpoint], is_mapped=False) as memory:
        write(memory.store, 0, content(1, 2))
        memory.map_slab(0)
        write(memory.store, 1, content(2, 2))
        assert memory.store.remote_pages() == 2
        assert read(memory.store, 0, 3) == content(1, 2)[:PAGE] + content(2, 2)


def test_a_new_mapping_has_no_page_until_it_is_written(
    tmp_path: Path, two_lenders: tuple[Lender, Lender]
) -> None:
    """No promotion on a read."""
    with borrowing(tmp_path, [two_lenders[0].endpoint], is_mapped=False) as memory:
        write(memory.store, 0, content(1))
        memory.map_slab(0)
        assert read(memory.store, 0) == content(1)
        assert memory.store.remote_pages() == 0


def test_the_failure_of_one_lender_leaves_the_slabs_of_the_others(
    memory: BorrowedMemory, two_lenders: tuple[Lender, Lender]
) -> None:
    """In the original one disconnection switches all writes to the disk, but leaves the bits of
    the other lenders' slabs set: reads there return old pages."""
    store = memory.store
    for slab in range(4):
        write(store, slab * SLAB_PAGES, content(slab))
    lost, left = two_lenders
    lost.close()
    wait_until(lambda: memory.view().away == (str(lost.endpoint),))
    assert store.mapped_by_lender() == {str(left.endpoint): 2}
    for slab in range(4):
        assert read(store, slab * SLAB_PAGES) == content(slab)
        write(store, slab * SLAB_PAGES, content(10 + slab))
        assert read(store, slab * SLAB_PAGES) == content(10 + slab)
    assert store.mapped_by_lender() == {str(left.endpoint): 2}
    assert store.counters.read_remote >= 2


def test_a_lost_slab_is_mapped_again_at_another_lender(
    memory: BorrowedMemory, two_lenders: tuple[Lender, Lender]
) -> None:
    lost, left = two_lenders
    lost.close()
    wait_until(lambda: memory.view().away)
    wait_until(lambda: str(lost.endpoint) not in memory.store.mapped_by_lender())
    for slab in range(4):
        if memory.store.unmapped(slab):
            assert memory.map_slab(slab)
    assert memory.store.mapped_by_lender() == {str(left.endpoint): 4}


def test_forgotten_pages_are_not_remote(memory: BorrowedMemory) -> None:
    write(memory.store, 0, content(1, 4))
    memory.store.forget(PAGE, 2 * PAGE)
    assert memory.store.remote_pages() == 2
    assert read(memory.store, 3) == content(1, 4)[3 * PAGE :]


def test_all_pages_are_in_the_backup_after_the_end(
    tmp_path: Path, two_lenders: tuple[Lender, Lender]
) -> None:
    data = content(5, 4 * SLAB_PAGES)
    with borrowing(tmp_path, [each.endpoint for each in two_lenders]) as memory:
        write(memory.store, 0, data)
    assert (tmp_path / "backup").read_bytes() == data


def test_threads_that_write_one_page_leave_one_value_everywhere(memory: BorrowedMemory) -> None:
    """The lender and the backup get overlapping writes in the same order."""
    store, writes = memory.store, [content(seed, 2) for seed in range(4)]

    def writer(data: bytes) -> None:
        for _ in range(40):
            write(store, 2, data)

    threads = [threading.Thread(target=writer, args=(data,)) for data in writes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.remote_pages() == 2
    remote = read(store, 2, 2)
    store.detach_all(next(iter(store.mapped_by_lender())))
    store.detach_all(next(iter(store.mapped_by_lender()), ""))
    assert remote in writes
    assert read(store, 2, 2) == remote


def test_pages_of_a_slab_are_read_while_a_write_to_it_waits_for_the_disk(
    memory: BorrowedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, write_file = threading.Event(), BackupFile.write

    def held(file: BackupFile, memory: memoryview, batch: PageBatch) -> None:
        goes_on.wait()
        write_file(file, memory, batch)

    monkeypatch.setattr(BackupFile, "write", held)
    store, data = memory.store, content(1, SLAB_PAGES)
    while memory.view().pending_pages < ARENA_PAGES:
        write(store, 0, data)
    waits = threading.Thread(target=write, args=(store, 0, content(2, SLAB_PAGES)))
    waits.start()
    wait_until(lambda: store.counters.written > ARENA_PAGES)
    try:
        assert [read(store, 0, SLAB_PAGES) for _ in range(20)] == [data] * 20
    finally:
        goes_on.set()
        waits.join()
    assert read(store, 0, SLAB_PAGES) == content(2, SLAB_PAGES)


def test_writes_that_begin_together_are_right_on_lenders_and_disk(
    memory: BorrowedMemory, two_lenders: tuple[Lender, Lender]
) -> None:
    """To slabs of both lenders, some of them to the same pages; the last of them stays."""
    store = memory.store
    writes = [
        (first, content(seed, pages))
        for seed, (first, pages) in enumerate(
            [(0, 2), (2 * SLAB_PAGES, 1), (1, 2), (SLAB_PAGES, 3), (0, 1), (SLAB_PAGES - 1, 2)]
        )
    ]
    begun = store.begin_writes([(first * PAGE, memoryview(data)) for first, data in writes])
    assert [error for each in begun for error in each.finish_all()] == [None] * len(writes)
    expected = bytearray(4 * SLAB_PAGES * PAGE)
    for first, data in writes:
        expected[first * PAGE : first * PAGE + len(data)] = data
    assert store.counters.written == 11
    for _ in range(2):
        assert read(store, 0, 4 * SLAB_PAGES) == expected
        for lender in two_lenders:
            store.detach_all(str(lender.endpoint))


def test_writes_without_room_begin_once_the_disk_has_others(memory: BorrowedMemory) -> None:
    """More than the queue of the disk holds, of one request that begins as several."""
    store, count = memory.store, 2 * ARENA_PAGES
    pages = [place % (4 * SLAB_PAGES) for place in range(count)]
    writes = [(page * PAGE, memoryview(content(place))) for place, page in enumerate(pages)]
    begun = store.begin_writes(writes)
    assert len(begun) > 1
    assert [error for each in begun for error in each.finish_all()] == [None] * count
    last = dict(zip(pages, range(count), strict=True))
    for page, place in last.items():
        assert read(store, page) == content(place)


def test_writes_that_a_failing_disk_has_no_room_for_fail_alone(
    memory: BorrowedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(file: BackupFile, memory: memoryview, batch: PageBatch) -> None:
        raise OSError(errno.EIO, "disk")

    monkeypatch.setattr(BackupFile, "write", fail)
    store, count = memory.store, ARENA_PAGES + 3
    begun = store.begin_writes([(0, memoryview(content(place))) for place in range(count)])
    errors = [error for each in begun for error in each.finish_all()]
    assert errors[:ARENA_PAGES] == [None] * ARENA_PAGES
    assert all(isinstance(error, OSError) for error in errors[ARENA_PAGES:])
    assert read(store, 0) == content(ARENA_PAGES - 1)


def test_a_lender_that_is_lost_beside_another_loses_only_its_part_of_a_run(
    memory: BorrowedMemory, two_lenders: tuple[Lender, Lender]
) -> None:
    store, (lost, left) = memory.store, two_lenders
    lost.close()
    writes = [(slab * SLAB_PAGES * PAGE, memoryview(content(slab))) for slab in range(4)]
    begun = store.begin_writes(writes)
    assert [error for each in begun for error in each.finish_all()] == [None] * 4
    wait_until(lambda: memory.view().away == (str(lost.endpoint),))
    assert store.mapped_by_lender() == {str(left.endpoint): 2}
    assert [read(store, slab * SLAB_PAGES) for slab in range(4)] == [content(n) for n in range(4)]


def test_a_new_lender_is_given_what_waits_for_the_disk(
    memory: BorrowedMemory, two_lenders: tuple[Lender, Lender], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads of these pages would wait behind the disk's queue."""
    goes_on, write_file = threading.Event(), BackupFile.write

    def held(file: BackupFile, memory: memoryview, batch: PageBatch) -> None:
        goes_on.wait()
        write_file(file, memory, batch)

    store, on_disk, pending = memory.store, content(1, SLAB_PAGES), content(2, 3)
    write(store, 0, on_disk)
    store.flush()
    monkeypatch.setattr(BackupFile, "write", held)
    try:
        write(store, 0, content(3))
        write(store, 0, pending[:PAGE])
        write(store, 4, pending[PAGE:])
        for lender in two_lenders:
            store.detach_all(str(lender.endpoint))
        before = store.remote_pages()
        assert memory.map_slab(0)
        wait_until(lambda: store.remote_pages() == before + 3)
        assert read(store, 0) + read(store, 4, 2) == pending
        assert store.counters.read_local == 0
    finally:
        goes_on.set()
    expected = pending[:PAGE] + on_disk[PAGE : 4 * PAGE] + pending[PAGE:] + on_disk[6 * PAGE :]
    assert read(store, 0, SLAB_PAGES) == expected


def test_a_new_lender_is_given_what_was_read_and_not_what_it_has(
    memory: BorrowedMemory, two_lenders: tuple[Lender, Lender]
) -> None:
    store, data = memory.store, content(8, SLAB_PAGES)
    write(store, 0, data)
    store.flush()  # Nothing is pending, which the new lender would get.
    (lender,) = (name for name in store.mapped_by_lender() if is_slab_of(memory, name))
    store.detach_all(lender)
    assert memory.map_slab(0)
    write(store, 0, data[:PAGE])
    before = store.remote_pages()
    store.begin_fill(0, memoryview(data)).finish()
    assert store.remote_pages() == before + SLAB_PAGES - 1
    assert read(store, 0, SLAB_PAGES) == data
    assert store.counters.read_local == 0
    assert store.counters.written == SLAB_PAGES + 1


def test_pages_of_a_slab_without_a_lender_are_given_to_nobody(tmp_path: Path) -> None:
    with borrowing(tmp_path) as memory:
        memory.store.begin_fill(0, memoryview(content(1, 2))).finish()
        assert memory.store.remote_pages() == 0


def test_a_lender_that_is_lost_before_it_is_given_pages_changes_nothing(tmp_path: Path) -> None:
    data = content(3, SLAB_PAGES)
    with lending() as lender, borrowing(tmp_path, [lender.endpoint]) as memory:
        write(memory.store, 0, data[:PAGE])
        write(memory.store, 1, data[PAGE:])
        memory.store.flush()
        memory.store.detach_all(str(lender.endpoint))
        assert memory.map_slab(0)
        lender.close()
        memory.store.begin_fill(0, memoryview(data)).finish()
        assert memory.store.remote_pages() == 0
        assert read(memory.store, 0, SLAB_PAGES) == data


def is_slab_of(memory: BorrowedMemory, lender: str, slab: int = 0) -> bool:
    return lender in {mapping.lender for mapping in memory.store._slabs[slab].mappings}
