from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.transport.backends.free_list import PAGE_BYTES, FreeList, page_rounded

SIZE = 64


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 20), st.integers(0, 99)), max_size=60))
def test_ranges_in_use_never_overlap_and_no_byte_is_lost(
    steps: list[tuple[bool, int, int]],
) -> None:
    free = FreeList(SIZE)
    used: list[tuple[int, int]] = []
    for is_take, size, which in steps:
        if is_take:
            start = free.take(size)
            if start is not None:
                taken = set(range(start, start + size))
                assert taken <= set(range(SIZE))
                assert all(taken.isdisjoint(range(s, s + n)) for s, n in used)
                used.append((start, size))
        elif used:
            free.give_back(*used.pop(which % len(used)))
        assert free.free_bytes == SIZE - sum(n for _, n in used)
    for stretch in used:
        free.give_back(*stretch)
    assert free.is_unused
    assert free.take(SIZE) == 0


def test_the_lowest_range_is_allocated_first() -> None:
    free = FreeList(10)
    assert [free.take(4), free.take(4), free.take(4)] == [0, 4, None]
    free.give_back(0, 4)
    assert free.take(2) == 0


def test_sizes_are_whole_pages() -> None:
    assert [page_rounded(n) for n in (0, 1, PAGE_BYTES, PAGE_BYTES + 1)] == [
        PAGE_BYTES,
        PAGE_BYTES,
        PAGE_BYTES,
        2 * PAGE_BYTES,
    ]
