"""What becomes of memory whose request gets no reply."""

from __future__ import annotations

import gc
import mmap
import os
import subprocess
import sys

import numpy as np
import pytest

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


def resident_bytes(arena: Arena) -> int:
    """Of all segments."""
    descriptors = [arena.segment(number).descriptor for number in arena.segment_numbers]
    return sum(os.fstat(each).st_blocks * 512 for each in descriptors)


def test_a_destination_takes_no_memory_once_nothing_refers_to_it() -> None:
    arena = Arena()
    array = arena.empty(4 * MB)
    array[:] = 1
    lease = Lease(arena)
    lease.targets([array[MB : 2 * MB].data], MB)
    lease.abandon([], [array[MB : 2 * MB].data])
    assert resident_bytes(arena) == 4 * MB
    assert (array == 1).all(), "its other parts are still in use"
    del array
    gc.collect()
    assert resident_bytes(arena) == 0


def test_a_staged_destination_takes_no_memory() -> None:
    arena, memory = Arena(), np.empty(MB, np.uint8).data
    lease = Lease(arena)
    (target,) = lease.targets([memory], MB)
    arena.segment(target.segment).memory[target.offset : target.offset + MB] = bytes(MB)
    lease.abandon([], [memory])
    assert resident_bytes(arena) == 0


def test_a_payload_keeps_its_content_because_the_server_may_still_use_it() -> None:
    arena = Arena()
    array = arena.empty(MB)
    array[:] = 7
    lease = Lease(arena)
    reference = lease.payload([array.data], MB)
    lease.abandon([array.data], None)
    del array
    gc.collect()
    memory = arena.segment(reference.segment).memory
    assert memory[reference.offset : reference.offset + MB] == bytes([7]) * MB


_LOCKED = """
import ctypes, gc, os, sys
from motet.transport import Arena
from motet.transport.backends.lease import Lease
if ctypes.CDLL(None).mlockall(1 | 2 | 4):
    sys.exit(77)
arena = Arena()
array = arena.empty(1 << 20)
array[:] = 1
Lease(arena).abandon([], [array.data])
del array
gc.collect()
print(os.fstat(arena.segment(0).descriptor).st_blocks)
"""


def test_a_destination_takes_no_memory_in_a_process_that_is_locked_into_memory() -> None:
    """As a device for swap space is."""
    done = subprocess.run([sys.executable, "-c", _LOCKED], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("this user may not lock memory")
    assert (done.stdout.strip(), done.stderr) == ("0", "")
