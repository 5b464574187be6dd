from __future__ import annotations

from motet.remote_memory.lender.slab_memory import SlabMemory

SIZE = 9 << 20


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_is_taken_at_once_and_returned_at_once() -> None:
    memory = SlabMemory(SIZE)
    before = resident_bytes()
    memory.populate()
    populated = resident_bytes()
    memory.view[:] = b"x" * SIZE
    memory.zero()
    assert populated - before > 0.9 * SIZE
    assert resident_bytes() - before < 0.5 * SIZE
    assert bytes(memory.view[-4096:]) == bytes(4096)
    memory.close()
