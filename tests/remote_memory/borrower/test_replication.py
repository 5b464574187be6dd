"""Two lenders per slab: what is lost with one of them is read from the other, and copied again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory
from motet.remote_memory.lender.lender import Lender
from remote_memory_parts import (
    SLAB_PAGES,
    MovableMemory,
    borrowing,
    content,
    lending,
    read,
    write,
)
from waiting import wait_until

PAGES = 4 * SLAB_PAGES


@pytest.fixture
def lenders() -> Iterator[list[Lender]]:
    with lending() as first, lending() as second:
        yield [first, second]


@pytest.fixture
def memory(tmp_path: Path, lenders: list[Lender]) -> Iterator[BorrowedMemory]:
    with borrowing(tmp_path, [each.endpoint for each in lenders], replicas=2) as found:
        yield found


def test_both_lenders_have_every_page(memory: BorrowedMemory, lenders: list[Lender]) -> None:
    write(memory.store, 0, content(1, PAGES))
    view = memory.view()
    assert (view.remote_pages, view.replicated_pages, view.mapped_slabs) == (PAGES, PAGES, 4)
    assert view.lenders == {str(each.endpoint): 4 for each in lenders}


def test_no_page_is_read_from_the_disk_after_a_lender_has_died(
    memory: BorrowedMemory, lenders: list[Lender]
) -> None:
    data = content(1, PAGES)
    write(memory.store, 0, data)
    lenders[0].close()
    assert read(memory.store, 0, PAGES) == data
    assert memory.store.counters.read_local == 0
    assert memory.view().remote_pages == PAGES


def test_writes_after_the_death_of_a_lender_are_remote(
    memory: BorrowedMemory, lenders: list[Lender]
) -> None:
    lenders[0].close()
    for seed in range(3):
        write(memory.store, 1, content(seed, PAGES - 1))
        assert read(memory.store, 1, PAGES - 1) == content(seed, PAGES - 1)
    assert memory.store.counters.read_local == 0


def test_a_lost_copy_is_made_again_on_a_third_lender(lenders: list[Lender], tmp_path: Path) -> None:
    data = content(2, PAGES)
    with (
        lending() as third,
        borrowing(tmp_path, [each.endpoint for each in (*lenders, third)], replicas=2) as memory,
    ):
        write(memory.store, 0, data)
        lenders[0].close()
        # Before the loss is noticed, all pages still count as replicated.
        wait_until(lambda: memory.view().lenders.get(str(third.endpoint)) == 4)
        wait_until(lambda: memory.view().replicated_pages == PAGES)
        lenders[1].close()
        assert read(memory.store, 0, PAGES) == data
        assert memory.store.counters.read_local == 0


def test_a_slab_has_one_lender_while_there_is_no_other(tmp_path: Path) -> None:
    with lending() as first, lending() as absent:
        second = absent.endpoint
        absent.close()
        with borrowing(tmp_path, [first.endpoint, second], away=1, replicas=2) as memory:
            write(memory.store, 0, content(1, PAGES))
            assert memory.view().replicated_pages == 0
            assert not memory.map_slab(0)
            with lending(port=second.port):
                wait_until(lambda: memory.view().replicated_pages == PAGES)
                assert memory.view().repaired_pages == PAGES
                first.close()
                assert read(memory.store, 0, PAGES) == content(1, PAGES)
                assert memory.store.counters.read_local == 0


def test_pages_of_an_evicted_copy_are_read_from_the_other(tmp_path: Path) -> None:
    machine = MovableMemory()
    with lending(4, memory=machine) as first, lending(4) as second:
        addresses = [first.endpoint, second.endpoint]
        with borrowing(tmp_path, addresses, replicas=2) as memory:
            write(memory.store, 0, content(1, PAGES))
            machine.leave(1)
            wait_until(lambda: first.view().evicted == 3)
            assert read(memory.store, 0, PAGES) == content(1, PAGES)
            assert memory.store.counters.read_local == 0


class Writers:
    """Four threads, each with a slab of its own; `last`: the version that each has written."""

    def __init__(self, memory: BorrowedMemory) -> None:
        self._store = memory.store
        self._ends = threading.Event()
        self.last = [0] * 4
        self._threads = [threading.Thread(target=self._run, args=(slab,)) for slab in range(4)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def written(self, slab: int, version: int) -> bytes:
        return content(8 * version + slab, SLAB_PAGES)

    def _run(self, slab: int) -> None:
        while not self._ends.is_set():
            version = self.last[slab] + 1
            write(self._store, slab * SLAB_PAGES, self.written(slab, version))
            self.last[slab] = version


def test_pages_written_during_repairs_are_right_on_every_lender(tmp_path: Path) -> None:
    with (
        lending(99) as first,
        lending(99) as second,
        lending(99) as third,
        borrowing(
            tmp_path, [each.endpoint for each in (first, second, third)], replicas=2
        ) as memory,
    ):
        store = memory.store
        with Writers(memory) as writers:
            for turn in itertools.count(1):
                for lender in list(store.mapped_by_lender()):
                    memory.lost(lender)
                    wait_until(lambda: not store.lacking_copies())
                if turn >= 8 and store.counters.repaired > 0:  # Writers may begin late.
                    break
        wait_until(lambda: store.replicated_pages() == store.remote_pages())
        assert store.remote_pages() > 0
        for lender in list(store.mapped_by_lender()):
            for slab in range(4):
                found = read(store, slab * SLAB_PAGES, SLAB_PAGES)
                assert found == writers.written(slab, writers.last[slab])
            store.detach_all(lender)
