"""Spilled data in remote memory: where they are read from while lenders come and go."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from motet.remote_memory.lender.lender import Lender
from motet.remote_memory.wire.memory_messages import MemoryMessageKind
from motet.runtime.core.options import SpillLenders
from motet.runtime.spilling.section_transfer import new_buffer
from motet.runtime.spilling.targets.remote_spill import RemoteSpill
from motet.transport import Endpoint
from remote_memory_parts import (
    PAGE,
    SECRET,
    SLAB_BYTES,
    SLAB_PAGES,
    MovableMemory,
    content,
    lending,
)
from waiting import wait_until

DISK = Path("/var/tmp")
SLABS = 6
PAGES = SLABS * SLAB_PAGES
DATA = content(1, PAGES)


def remote_spill(*endpoints: Endpoint, wait_s: float = 10.0) -> RemoteSpill:
    return RemoteSpill(DISK, SpillLenders(endpoints, SECRET, SLAB_BYTES), wait_s)


def written(target: RemoteSpill) -> RemoteSpill:
    buffer = new_buffer(len(DATA))
    buffer[:] = DATA
    place = target.reserve(len(DATA))
    assert place == 0
    target.write(place, buffer)
    return target


def pages_read(target: RemoteSpill) -> tuple[int, int]:
    """Of a read of all data, which is right: from lenders, from the disk."""
    counters, buffer = target.counters, new_buffer(len(DATA))
    before = counters.read_remote, counters.read_local
    target.read(0, buffer)
    assert bytes(buffer) == DATA
    return counters.read_remote - before[0], counters.read_local - before[1]


@pytest.fixture
def machine() -> MovableMemory:
    return MovableMemory()


@pytest.fixture
def lender(machine: MovableMemory) -> Iterator[Lender]:
    with lending(SLABS, memory=machine) as found:
        yield found


def test_data_have_a_lender_before_they_are_written_and_are_read_from_it(lender: Lender) -> None:
    target = written(remote_spill(lender.endpoint))
    assert target.remote_bytes == len(DATA)
    assert pages_read(target) == (PAGES, 0)


def test_what_lenders_have_no_room_for_is_read_from_the_disk(
    machine: MovableMemory, lender: Lender
) -> None:
    machine.leave(2)
    target = written(remote_spill(lender.endpoint))
    assert target.remote_bytes == 2 * SLAB_BYTES
    assert pages_read(target) == (2 * SLAB_PAGES, PAGES - 2 * SLAB_PAGES)


def test_evicted_data_come_from_the_disk_and_go_to_the_next_lender(
    machine: MovableMemory, lender: Lender
) -> None:
    with lending(0) as second:
        target = written(remote_spill(lender.endpoint, second.endpoint))
        machine.leave(0)
        wait_until(lambda: not target.remote_bytes)
        assert pages_read(target) == (0, PAGES)
    with lending(SLABS, port=second.endpoint.port) as back:
        # A busy slab gets a lender; the read after that brings its pages there.
        wait_until(lambda: pages_read(target) == (PAGES, 0))
        assert back.view().mapped_slabs == SLABS
        assert target.remote_bytes == len(DATA)


def test_a_lender_that_dies_leaves_the_data_on_the_disk() -> None:
    with lending(SLABS) as lender:
        target = written(remote_spill(lender.endpoint))
    assert pages_read(target) == (0, PAGES)


def test_a_read_that_a_dying_lender_does_not_answer_leaves_its_memory_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever reads unmaps the memory soon: blocks that have arrived are read for a moment."""
    asked = threading.Event()
    with lending(SLABS) as lender:
        target = written(remote_spill(lender.endpoint))
        monkeypatch.setitem(
            lender._handlers, MemoryMessageKind.READ_PAGES, lambda request: asked.set()
        )
        with ThreadPoolExecutor(1) as threads, new_buffer(len(DATA)) as buffer:
            reading = threads.submit(target.read, 0, buffer)
            assert asked.wait(100)
            lender.close()
            reading.result()
            assert bytes(buffer) == DATA
    assert target.counters.read_local >= PAGES


def test_without_an_answer_the_disk_has_the_data_until_a_lender_appears() -> None:
    with lending(SLABS) as lender:
        endpoint = lender.endpoint
    target = written(remote_spill(endpoint, wait_s=0.0))
    assert not target.has_lender
    assert pages_read(target) == (0, PAGES)
    with lending(SLABS, port=endpoint.port):
        wait_until(lambda: pages_read(target) == (PAGES, 0))


def test_a_target_that_is_dropped_returns_its_slabs(lender: Lender) -> None:
    target = written(remote_spill(lender.endpoint))
    assert lender.view().mapped_slabs == SLABS
    del target
    wait_until(lambda: lender.view().mapped_slabs == 0)


def test_a_closed_target_returns_its_slabs(lender: Lender) -> None:
    target = written(remote_spill(lender.endpoint))
    target.close()
    assert target.remote_bytes == 0
    wait_until(lambda: lender.view().mapped_slabs == 0)


def test_the_backup_is_not_in_the_page_cache() -> None:
    """`fincore` counts the cached pages of a file."""
    target = remote_spill()
    place = target.reserve(8 << 20)
    target.write(place, new_buffer(8 << 20))
    target.read(place, new_buffer(8 << 20))
    descriptor = target._memory._file._file
    found = subprocess.run(
        ["fincore", "--bytes", "--raw", "--noheadings", "-o", "RES", f"/proc/self/fd/{descriptor}"],
        capture_output=True,
        text=True,
        check=True,
        pass_fds=[descriptor],
    )
    assert int(found.stdout) <= PAGE
    target.close()
