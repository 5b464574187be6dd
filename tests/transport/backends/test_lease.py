"""What becomes of memory whose request gets no reply."""

from __future__ import annotations

import gc
import mmap

import numpy as np

from motet.transport import Arena
from motet.transport.backends.lease import Lease

MB = 1 << 20


def test_memory_of_the_arena_is_never_used_again() -> None:
    arena = Arena()
    array = arena.empty(MB)
    address = array.ctypes.data
    lease = Lease(arena)
    assert lease.targets([array.data], MB) == [arena.find(array.data)]
    lease.abandon([], [array.data])
    del array
    gc.collect()
    others = [arena.empty(MB) for _ in range(8)]
    assert address not in [each.ctypes.data for each in others]


def test_other_memory_is_not_kept_as_the_server_has_no_access_to_it() -> None:
    arena, memory = Arena(), mmap.mmap(-1, 2 * MB)
    lease = Lease(arena)
    sent, into = memoryview(memory)[:MB], memoryview(memory)[MB:]
    lease.payload([sent], MB)
    lease.targets([into], MB)
    lease.abandon([sent], [into])
    del sent, into
    memory.close()


def test_staging_memory_is_never_used_again() -> None:
    arena = Arena()
    memory = np.empty(MB, np.uint8).data
    lease = Lease(arena)
    (target,) = lease.targets([memory], MB)
    lease.abandon([], [memory])
    others = [arena.find(arena.empty(MB).data) for _ in range(8)]
    assert target not in others
