from __future__ import annotations

import gc
import os

import numpy as np

from motet.transport import Arena
from motet.transport.backends.arena import LARGE_BYTES

MB = 1 << 20


def test_arrays_of_the_arena_do_not_overlap() -> None:
    arena = Arena()
    arrays = [arena.empty((n + 1, 1000), np.float32) for n in range(20)]
    for number, array in enumerate(arrays):
        array[:] = number
    assert [set(array.ravel().tolist()) for array in arrays] == [{float(n)} for n in range(20)]
    assert arena.empty(0).shape == (0,)


def test_memory_of_a_deleted_array_is_reused() -> None:
    arena = Arena()
    address = arena.empty(MB).ctypes.data
    gc.collect()
    assert arena.empty(MB).ctypes.data == address


def test_memory_is_not_reused_while_a_view_exists() -> None:
    arena = Arena()
    view = arena.empty((4, MB), np.uint8)[1:3].reshape(-1)[5:]
    view[:] = 7
    gc.collect()
    for _ in range(10):
        arena.empty((4, MB))[:] = 0
    assert (view == 7).all()


def test_the_arena_finds_its_own_arrays() -> None:
    arena = Arena(segment_bytes=MB)
    array = arena.empty(3 * MB)
    other = arena.empty(MB)
    found = arena.find(array[10:20].data)
    assert found is not None
    assert found.length == 10
    assert found.offset == 10
    there = arena.find(other.data)
    assert there is not None
    assert there.segment != found.segment
    assert arena.find(np.empty(10, np.uint8).data) is None


def test_unused_segments_are_freed() -> None:
    arena = Arena(segment_bytes=MB, keep_bytes=2 * MB)
    arrays = [arena.empty(MB) for _ in range(8)]
    assert len(arena.segment_numbers) == 8
    arrays.clear()
    gc.collect()
    arena.empty(MB)
    assert len(arena.segment_numbers) <= 2


def test_a_large_array_takes_no_memory_once_it_is_deleted() -> None:
    arena = Arena()
    array = arena.empty(LARGE_BYTES + MB)
    array[:] = 1
    (number,) = arena.segment_numbers
    descriptor = arena.segment(number).descriptor
    assert os.fstat(descriptor).st_blocks * 512 >= LARGE_BYTES
    del array
    gc.collect()
    assert os.fstat(descriptor).st_blocks == 0
    assert arena.empty(LARGE_BYTES + MB)[-1] == 0


def test_an_arena_may_keep_large_arrays_for_the_next_one() -> None:
    arena = Arena(large_bytes=2 * LARGE_BYTES)
    arena.empty(LARGE_BYTES + MB)[-1] = 7
    assert arena.empty(LARGE_BYTES + MB)[-1] == 7
