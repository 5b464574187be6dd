"""Copies of compiled loops, and the end of them."""

from __future__ import annotations

import mmap
import threading

import numpy as np
import pytest

from motet.transport.native.guarded_memory import GuardedMemory, copy_into, copy_out

SIZE = 1 << 16


def word(value: int) -> np.uint64:
    return np.uint64(value)


def test_what_is_copied_into_it_comes_out() -> None:
    memory = memoryview(bytearray(SIZE))
    guarded = GuardedMemory(memory)
    source, target = np.arange(100, dtype=np.uint8), np.zeros(50, np.uint8)
    assert copy_into(guarded.record, word(SIZE - 100), word(source.ctypes.data), word(100))
    assert bytes(memory[SIZE - 100 :]) == source.tobytes()
    assert copy_out(guarded.record, word(SIZE - 60), word(target.ctypes.data), word(50))
    assert target.tolist() == list(range(40, 90))


@pytest.mark.parametrize(
    ("offset", "size"), [(SIZE, 1), (SIZE - 1, 2), (0, SIZE + 1), ((1 << 64) - 1, 2)]
)
def test_a_range_beyond_its_end_is_refused(offset: int, size: int) -> None:
    guarded = GuardedMemory(memoryview(bytearray(SIZE)))
    other = np.zeros(SIZE + 1, np.uint8)
    for copy in (copy_into, copy_out):
        assert not copy(guarded.record, word(offset), word(other.ctypes.data), word(size))


def test_its_memory_can_be_unmapped_once_it_is_closed_beside_copies() -> None:
    """The process would end by a signal otherwise."""
    memory = mmap.mmap(-1, SIZE)
    view = memoryview(memory)
    guarded = GuardedMemory(view)
    other = np.zeros(SIZE, np.uint8)
    began = threading.Barrier(3)

    def use() -> None:
        assert copy_into(guarded.record, word(0), word(other.ctypes.data), word(SIZE))
        began.wait()
        while copy_into(guarded.record, word(0), word(other.ctypes.data), word(SIZE)):
            continue

    threads = [threading.Thread(target=use) for _ in range(2)]
    for thread in threads:
        thread.start()
    began.wait()
    guarded.close()
    view.release()
    memory.close()
    for thread in threads:
        thread.join()
    assert not copy_out(guarded.record, word(0), word(other.ctypes.data), word(1))
