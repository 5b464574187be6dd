"""Reads ahead of a device: what they serve, and that no read gets an old page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.borrower.prefetching_store import PrefetchingStore
from motet.remote_memory.borrower.slab_store import SlabStore
from motet.remote_memory.borrower.store_operation import StoreOperation
from remote_memory_parts import PAGE, SLAB_PAGES, borrowing, content, lending, read, write
from soak_cases import others_in_soak
from waiting import wait_until

SLABS = 12
PAGES = SLABS * SLAB_PAGES


@pytest.fixture(params=others_in_soak(["remote", "disk"], ["remote"]))
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[BorrowedMemory]:
    with (
        lending(SLABS) as lender,
        borrowing(
            tmp_path,
            [lender.endpoint] if request.param == "remote" else [],
            SLABS,
            prefetch=True,
        ) as found,
    ):
        yield found


def store_of(memory: BorrowedMemory) -> PrefetchingStore:
    assert isinstance(memory.store, PrefetchingStore)
    return memory.store


def test_reads_in_order_are_served_by_what_was_read_ahead(memory: BorrowedMemory) -> None:
    data = content(1, PAGES)
    write(memory.store, 0, data)
    for page in range(PAGES):
        assert read(memory.store, page) == data[page * PAGE : (page + 1) * PAGE]
    view = memory.view()
    assert view.prefetched_used > 0.7 * PAGES
    assert view.prefetched_pages is not None
    assert view.prefetched_used <= view.prefetched_pages <= PAGES


def test_reads_of_several_pages_with_a_stride_are_served_too(memory: BorrowedMemory) -> None:
    data = content(2, PAGES)
    write(memory.store, 0, data)
    for page in range(0, PAGES - 2, 3):
        assert read(memory.store, page, 2) == data[page * PAGE : (page + 2) * PAGE]
    assert store_of(memory).used > 0.5 * 2 * PAGES / 3


def test_a_write_removes_what_was_read_ahead(memory: BorrowedMemory) -> None:
    store = store_of(memory)
    write(store, 0, content(1, PAGES))
    for page in range(20):
        read(store, page)
    assert store.issued > store.used
    for page in range(20, 40):
        write(store, page, content(100 + page))
    for page in range(20, 40):
        assert read(store, page) == content(100 + page)


def test_threads_that_read_in_order_never_get_an_older_page_than_was_written(
    memory: BorrowedMemory,
) -> None:
    """A writer raises the versions of all pages in turn; readers follow."""
    store, ends = memory.store, threading.Event()
    done = [0]
    wrong = list[str]()

    def versions(page: int) -> int:
        return int.from_bytes(read(store, page)[:8], "little")

    def reader() -> None:
        while not ends.is_set():
            for page in range(PAGES):
                floor = done[0]
                if (found := versions(page)) < floor:
                    wrong.append(f"page {page}: {found}, at least {floor} was written")

    threads = [threading.Thread(target=reader) for _ in range(2)]
    for thread in threads:
        thread.start()
    for version in range(1, 6):
        for page in range(PAGES):
            write(store, page, version.to_bytes(8, "little") + bytes(PAGE - 8))
        done[0] = version
    ends.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert store_of(memory).issued > 0


def test_pages_that_are_lost_while_they_are_read_ahead_come_from_the_disk(tmp_path: Path) -> None:
    data = content(3, PAGES)
    with (
        lending(SLABS) as lender,
        borrowing(tmp_path, [lender.endpoint], SLABS, prefetch=True) as memory,
    ):
        write(memory.store, 0, data)
        for page in range(PAGES):
            if page == PAGES // 2:
                lender.close()
            assert read(memory.store, page) == data[page * PAGE : (page + 1) * PAGE]
        wait_until(lambda: memory.view().away)


@pytest.mark.parametrize("step", ["begin", "finish"])
def test_an_unexpected_error_of_reading_ahead_fails_no_read_and_ends_no_thread(
    memory: BorrowedMemory,
    step: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    begin_read, is_broken = SlabStore.begin_read, [True]

    class Broken:
        def finish(self) -> None:
            raise RuntimeError("a fault in the program")

    def begin(self: SlabStore, offset: int, into: memoryview) -> StoreOperation:
        if threading.current_thread().name != "motet-prefetch" or not is_broken[0]:
            return begin_read(self, offset, into)
        if step == "begin":
            raise RuntimeError("a fault in the program")
        return Broken()

    monkeypatch.setattr(SlabStore, "begin_read", begin)
    data = content(1, PAGES)
    write(memory.store, 0, data)

    def read_all() -> bool:
        pages = [read(memory.store, page) for page in range(PAGES)]
        return b"".join(pages) == data

    assert read_all(), "a run without an end would block it"
    assert "a fault in the program" in caplog.text
    used, is_broken[0] = store_of(memory).used, False
    assert read_all()
    assert store_of(memory).used > used


def test_without_prefetch_nothing_is_counted(tmp_path: Path) -> None:
    with borrowing(tmp_path) as memory:
        assert memory.view().prefetched_pages is None


def test_what_a_device_has_grown_by_is_read_ahead_too(tmp_path: Path) -> None:
    with borrowing(tmp_path, slabs=1, prefetch=True) as memory:
        memory.extend(memory.store.size_bytes * 4)
        data = content(4, 4 * SLAB_PAGES)
        write(memory.store, 0, data)
        for page in range(4 * SLAB_PAGES):
            assert read(memory.store, page) == data[page * PAGE : (page + 1) * PAGE]
        assert store_of(memory).used > SLAB_PAGES
