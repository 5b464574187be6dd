"""Real lenders and devices with small slabs, for tests of remote memory."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from motet.remote_memory.borrower.borrowed_memory import BorrowedMemory, DeviceSettings
from motet.remote_memory.borrower.store_operation import PageStore
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry
from motet.remote_memory.core.head_room import BETA, PoolLimits
from motet.remote_memory.lender.lender import Lender, LenderSettings
from motet.transport import Endpoint, new_secret
from waiting import wait_until

PAGE = PAGE_BYTES
SLAB_PAGES = 8
SLAB_BYTES = SLAB_PAGES * PAGE
ARENA_PAGES = 64
SECRET = new_secret()
MACHINE_BYTES = 1 << 30


class MovableMemory:
    """The memory of a lender's machine: `used_bytes` by others than the lender."""

    def __init__(self) -> None:
        self.used_bytes = 0
        self.lender: Lender | None = None

    def free_bytes(self) -> int:
        held_bytes = 0 if self.lender is None else self.lender.held_bytes
        return MACHINE_BYTES - self.used_bytes - held_bytes

    def leave(self, slabs: int) -> None:
        """From now on others use so much that this many slabs are left for lending."""
        assert self.lender is not None
        used_bytes = MACHINE_BYTES - slabs * SLAB_BYTES
        self.used_bytes = round(used_bytes / BETA)  # The average is there after one measurement.
        self.lender.adjust()
        self.used_bytes = used_bytes


@contextmanager
def lending(
    slabs: int = 8,
    *,
    memory: MovableMemory | None = None,
    quota_slabs: int | None = None,
    done_within_s: float = 60.0,
    port: int = 0,
    slab_bytes: int = SLAB_BYTES,
) -> Iterator[Lender]:
    """A lender; with `memory` it can be made to evict."""
    machine = memory or MovableMemory()
    limits = PoolLimits(MACHINE_BYTES, 0, slab_bytes, slabs)
    settings = LenderSettings(limits, quota_slabs, done_within_s=done_within_s, port=port)
    with Lender(settings, SECRET, machine.free_bytes) as lender:
        machine.lender = lender
        yield lender


@contextmanager
def borrowing(
    folder: Path,
    lenders: Sequence[Endpoint] = (),
    slabs: int = 4,
    *,
    is_mapped: bool = True,
    away: int = 0,
    arena_bytes: int = ARENA_PAGES * PAGE,
    replicas: int = 1,
    prefetch: bool = False,
) -> Iterator[BorrowedMemory]:
    """A device whose lenders all answer but `away`, with all its slabs mapped."""
    settings = DeviceSettings(
        DeviceGeometry(slabs * SLAB_BYTES, SLAB_BYTES),
        folder / "backup",
        arena_bytes=arena_bytes,
        replicas=replicas,
        prefetch=prefetch,
    )
    with BorrowedMemory(settings, lenders, SECRET, "device") as memory:
        wait_until(lambda: len(memory.view().away) == away)
        if is_mapped and lenders:
            for slab in range(slabs):
                assert memory.map_slab(slab)
            copies = slabs * min(replicas, len(lenders))
            wait_until(lambda: away > 0 or _mapped_copies(memory) == copies)
        yield memory


def _mapped_copies(memory: BorrowedMemory) -> int:
    """Not counting those that the device's own thread is about to place."""
    memory.place_hot_slabs()
    return sum(memory.store.mapped_by_lender().values())


def content(seed: int, pages: int = 1) -> bytes:
    """Pages that differ from those of other seeds, and from each other."""
    return random.Random(seed).randbytes(pages * PAGE)


def write(store: PageStore, first_page: int, data: bytes) -> None:
    """Write and wait."""
    store.begin_write(first_page * PAGE, memoryview(data)).finish()


def read(store: PageStore, first_page: int, pages: int = 1) -> bytes:
    """Read and wait."""
    into = bytearray(pages * PAGE)
    store.begin_read(first_page * PAGE, memoryview(into)).finish()
    return bytes(into)
