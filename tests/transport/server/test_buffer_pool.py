from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.transport.server.buffer_pool import BufferPool, size_class


@given(st.integers(1, 1 << 36))
def test_a_size_class_wastes_at_most_a_quarter(payload_bytes: int) -> None:
    size = size_class(payload_bytes)
    assert payload_bytes <= size
    assert size <= max(payload_bytes * 1.25 + 1, 1 << 14)
    assert size_class(size) == size


def test_a_returned_buffer_is_reused() -> None:
    pool = BufferPool()
    first = pool.take(100_000)
    pool.give_back(first)
    assert pool.take(99_000) is first
    assert pool.unused_bytes == 0


@given(st.lists(st.integers(1, 1 << 18), max_size=20))
def test_a_pool_keeps_at_most_its_limit(sizes: list[int]) -> None:
    pool = BufferPool(keep_bytes=1 << 19)
    buffers = [pool.take(size) for size in sizes]
    assert all(len(buffer) >= size for buffer, size in zip(buffers, sizes, strict=True))
    for buffer in buffers:
        pool.give_back(buffer)
    assert pool.unused_bytes <= 1 << 19
