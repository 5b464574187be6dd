"""Failed requests keep no memory, and count where they were answered."""

from __future__ import annotations

import gc
import mmap
import random
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import cast

import pytest

from motet.domain.errors import ConnectionLost, MotetError
from motet.remote_memory.borrower.backup_file import BackupFile
from motet.remote_memory.borrower.remote_operations import LenderWrite
from motet.remote_memory.borrower.slab_map import SlabPlacement
from motet.remote_memory.borrower.slab_store import SlabStore
from motet.remote_memory.borrower.store_operation import DestinationLost
from motet.remote_memory.borrower.write_behind import WriteBehind
from motet.remote_memory.core.device_geometry import DeviceGeometry
from motet.remote_memory.core.device_slab import SlabMapping
from motet.remote_memory.wire.page_requests import StaleSlab
from motet.transport.client.burst import Burst
from motet.transport.client.call import Call
from remote_memory_parts import PAGE, SLAB_BYTES

SLABS = 3
SIZE = SLABS * SLAB_BYTES
LENT = bytearray(SLAB_BYTES)
"""Memory that the lender can write to, also later."""


class Failure(Enum):
    """When a request fails, and whether the connection keeps its error."""

    SENDING = "sending"
    SENDING_LATER = "sending later"
    WAITING = "waiting"


class BrokenLender:
    """A LenderPort. Keeps the error of its connection, as a connection does."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        self.is_broken = False
        self.error: MotetError = ConnectionLost("broken")

    def submit_writes(self, writes: Sequence[LenderWrite]) -> Burst:
        self._check()
        return cast(Burst, BrokenBurst(self, len(writes)))

    def submit_read(self, mapping: SlabMapping, offset: int, into: memoryview) -> Call:
        del mapping, offset, into
        self._check()
        return cast(Call, self)

    def _check(self) -> None:
        if self.is_broken and self.failure is Failure.SENDING:
            raise ConnectionLost("not connected")
        if self.is_broken and self.failure is Failure.SENDING_LATER:
            raise self.error

    def wait(self) -> None:
        if self.is_broken:
            try:
                raise OSError("the peer closed the connection")
            except OSError:
                raise self.error  # noqa: B904 - as a session does

    def fail(self, error: MotetError) -> None:
        assert isinstance(error, ConnectionLost | StaleSlab)


class BrokenBurst:
    """Fails with the error of the connection, if the lender is broken by then."""

    def __init__(self, lender: BrokenLender, count: int) -> None:
        self._lender, self._count = lender, count

    def wait(self) -> dict[int, MotetError]:
        places = range(self._count) if self._lender.is_broken else ()
        return dict.fromkeys(places, self._lender.error)


@pytest.fixture(params=Failure)
def lender(request: pytest.FixtureRequest) -> BrokenLender:
    return BrokenLender(request.param)


@pytest.fixture
def store(tmp_path: Path, lender: BrokenLender) -> Iterator[SlabStore]:
    with BackupFile(tmp_path / "backup", SIZE) as file:
        backup = WriteBehind(file, SIZE // PAGE, SIZE)
        store = SlabStore(
            DeviceGeometry(SIZE, SLAB_BYTES),
            backup,
            {"a": lender},
            lambda _: None,
            is_lent=lambda view: view.obj is LENT,
        )
        for slab in range(SLABS):
            found = store.place(slab, lambda _: SlabMapping("a", b"token", 1))
            assert found is SlabPlacement.PLACED
        yield store
        backup.close()


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """A cycle of references keeps memory until some later collection."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("request_name", ["read", "write", "fill"])
def test_memory_of_failed_requests_can_be_unmapped(
    store: SlabStore, lender: BrokenLender, request_name: str
) -> None:
    with mmap.mmap(-1, SIZE) as first, memoryview(first) as view:
        if request_name != "fill":
            store.begin_write(0, view).finish()
    lender.is_broken = True
    begin = {"read": store.begin_read, "write": store.begin_write, "fill": store.begin_fill}
    memory = mmap.mmap(-1, SIZE)
    with memoryview(memory) as view:
        begin[request_name](0, view).finish()
    assert store.mapped_slabs() == 0
    memory.close()


def test_reads_count_for_lenders_once_they_are_answered(
    store: SlabStore, lender: BrokenLender
) -> None:
    """What a training reports of each epoch is never less than nothing."""
    memory = memoryview(bytearray(SIZE))
    store.begin_write(0, memory).finish()
    reading = store.begin_read(0, memory)
    assert store.counters.read_remote == 0
    reading.finish()
    assert store.counters.read_remote == SIZE // PAGE
    lender.is_broken = True
    store.begin_read(0, memory).finish()
    assert (store.counters.read_remote, store.counters.read_local) == (SIZE // PAGE, SIZE // PAGE)


def test_a_lost_lender_may_still_write_to_memory_that_it_can_access(store: SlabStore) -> None:
    """The content of the disk would be overwritten there."""
    content = random.Random(1).randbytes(SLAB_BYTES)
    store.begin_write(0, memoryview(content)).finish()
    lender = cast(BrokenLender, store._lenders["a"])
    lender.failure = Failure.WAITING
    reading = store.begin_read(0, memoryview(LENT))
    lender.is_broken = True
    with pytest.raises(DestinationLost):
        reading.finish()
    other = bytearray(SLAB_BYTES)
    store.begin_read(0, memoryview(other)).finish()
    assert other == content
    assert not any(LENT)


def test_a_slab_that_was_evicted_is_read_from_the_disk_into_the_same_memory(
    store: SlabStore,
) -> None:
    content = random.Random(2).randbytes(SLAB_BYTES)
    store.begin_write(0, memoryview(content)).finish()
    lender = cast(BrokenLender, store._lenders["a"])
    lender.failure, lender.error = Failure.WAITING, StaleSlab("evicted")
    reading = store.begin_read(0, memoryview(LENT))
    lender.is_broken = True
    reading.finish()
    assert content == LENT
    LENT[:] = bytes(SLAB_BYTES)
