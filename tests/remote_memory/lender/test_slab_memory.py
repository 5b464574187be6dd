from __future__ import annotations

import numpy as np

from motet.remote_memory.lender.slab_memory import SlabMemory

SIZE = 9 << 20


def resident_bytes(memory: SlabMemory) -> int:
    """Of the mapping alone: the rest of this process takes and returns memory, too."""
    address = np.frombuffer(memory.view, np.uint8).ctypes.data
    is_inside = False
    with open("/proc/self/smaps") as file:
        for line in file:
            first, *rest = line.split()
            if "-" in first:
                start, end = (int(each, 16) for each in first.split("-"))
                is_inside = start <= address < end
            elif is_inside and first == "Rss:":
                return int(rest[0]) * 1024
    raise AssertionError("the memory is not mapped")


def test_memory_is_taken_at_once_and_returned_at_once() -> None:
    memory = SlabMemory(SIZE)
    before = resident_bytes(memory)
    memory.populate()
    populated = resident_bytes(memory)
    memory.view[:] = b"x" * SIZE
    memory.zero()
    assert populated - before > 0.9 * SIZE
    assert resident_bytes(memory) - before < 0.1 * SIZE
    assert bytes(memory.view[-4096:]) == bytes(4096)
    memory.close()
