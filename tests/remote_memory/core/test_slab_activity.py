from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.core.slab_activity import HOT_SLAB, SlabActivity


def test_the_average_follows_the_chapters_formula() -> None:
    activity = SlabActivity(2)
    activity.count(0, 100)
    activity.advance(1.0)
    assert activity.rates == [20.0, 0.0]
    activity.count(0, 50)
    activity.advance(1.0)
    assert activity.rates == [0.2 * 50 + 0.8 * 20, 0.0]


@given(st.integers(1, 10**9), st.integers(1, 300))
def test_the_average_never_exceeds_the_rate_that_was_measured(rate: int, periods: int) -> None:
    """The original's average is not normalised: it grows without limit and overflows."""
    activity = SlabActivity(1)
    for _ in range(periods):
        activity.count(0, rate)
        activity.advance(1.0)
    assert activity.rates[0] <= rate * (1 + 1e-9)
    assert activity.rates[0] >= rate * (1 - 0.8**periods) * (1 - 1e-9)


def test_rates_are_per_second_whatever_the_period() -> None:
    activity = SlabActivity(1, alpha=1.0)
    activity.count(0, 300)
    activity.advance(1.5)
    assert activity.rates == [200.0]


def test_a_slab_is_hot_above_20_pages_per_second() -> None:
    """In the original the threshold is 0, so every slab that was ever used is hot."""
    activity = SlabActivity(4, alpha=1.0)
    for slab, pages in enumerate((0, 1, 20, 21)):
        activity.count(slab, pages)
    activity.advance(1.0)
    assert HOT_SLAB == 20
    assert activity.hot() == [3]


def test_the_busiest_slabs_come_first_and_equal_ones_by_number() -> None:
    activity = SlabActivity(4, alpha=1.0)
    for slab, pages in enumerate((30, 90, 30, 40)):
        activity.count(slab, pages)
    activity.advance(1.0)
    assert activity.hot() == [1, 3, 0, 2]


def test_a_factor_outside_of_its_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="alpha=0"):
        SlabActivity(1, alpha=0)


def test_a_slab_is_hot_as_soon_as_the_pages_of_this_period_make_it_hot() -> None:
    told = list[int]()
    activity = SlabActivity(2)
    activity.watch(20.0, lambda: told.append(len(activity.hot())))
    activity.count(1, 99)
    assert (activity.hot(), told) == ([], [])
    activity.count(1, 2)
    assert (activity.hot(), told) == ([1], [1])
    activity.count(1, 500)
    assert told == [1]
    activity.advance(1.0)
    activity.count(1, 101)
    assert told == [1, 1]


def test_slabs_that_are_added_keep_the_rates_of_the_others() -> None:
    activity = SlabActivity(1, alpha=0.5)
    activity.count(0, 40)
    activity.advance(1.0)
    activity.extend(3)
    activity.count(2, 60)
    activity.advance(1.0)
    assert list(activity.rates) == [10.0, 0.0, 30.0]
