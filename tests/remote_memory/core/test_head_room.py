from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.core.head_room import LentChange, MemoryUse, PoolLimits, SlabCounts

LIMITS = PoolLimits(total_bytes=1000, head_room_bytes=100, slab_bytes=10, most_slabs=50)


def test_the_average_of_memory_use_begins_with_the_first_measurement() -> None:
    """With 0, as in the chapter, a lender would first lend memory that is in use."""
    use = MemoryUse()
    assert use.measured(500) == 500
    assert use.measured(1000) == 600
    assert use.measured(1000) == 680


def test_slabs_are_allocated_as_soon_as_one_fits_above_the_head_room() -> None:
    """The original waits until twice the head room is free."""
    assert LIMITS.change(889, SlabCounts(0, 0)) == LentChange(allocate=1)
    assert LIMITS.change(891, SlabCounts(0, 0)) == LentChange()
    assert LIMITS.change(0, SlabCounts(0, 0)) == LentChange(allocate=50)


def test_free_slabs_are_released_before_mapped_ones_are_evicted() -> None:
    assert LIMITS.change(860, SlabCounts(free=3, mapped=4)) == LentChange(release=3)
    assert LIMITS.change(880, SlabCounts(free=3, mapped=4)) == LentChange(release=3, evict=2)
    assert LIMITS.change(1000, SlabCounts(free=0, mapped=4)) == LentChange(evict=4)


def test_slabs_that_are_being_evicted_are_not_asked_for_again() -> None:
    assert LIMITS.change(880, SlabCounts(0, 7, evicting=5)) == LentChange()
    assert LIMITS.change(890, SlabCounts(0, 7, evicting=5)) == LentChange(evict=1)


@given(
    used=st.integers(0, 1200),
    free=st.integers(0, 60),
    mapped=st.integers(0, 60),
    most=st.integers(1, 50),
    share=st.floats(0, 1),
)
def test_after_the_change_the_head_room_is_free_or_nothing_is_left_to_give(
    used: int, free: int, mapped: int, most: int, share: float
) -> None:
    limits = PoolLimits(1000, 100, 10, most)
    counts = SlabCounts(free, mapped, int(share * mapped))
    change = limits.change(used, counts)
    assert min(change) >= 0
    assert change.release <= free
    assert change.evict <= mapped - counts.evicting
    left = free + mapped - counts.evicting + change.allocate - change.release - change.evict
    spare = 1000 - used - 10 * left
    assert spare >= 100 or left == 0
    assert left <= most or left == 0


@given(used=st.integers(0, 900), most=st.integers(1, 50))
def test_the_pool_is_as_large_as_possible_and_then_stays(used: int, most: int) -> None:
    limits = PoolLimits(1000, 100, 10, most)
    count = limits.change(used, SlabCounts(0, 0)).allocate
    assert limits.change(used, SlabCounts(count, 0)) == LentChange()
    assert count == most or 1000 - used - 10 * count < 100 + 10


def test_a_factor_outside_of_its_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"beta=1\.5"):
        MemoryUse(1.5)
