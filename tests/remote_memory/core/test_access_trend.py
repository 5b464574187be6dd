"""The trend of reads, against brute force, and how far ahead it is followed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.core.access_trend import (
    AccessTrend,
    Prefetcher,
    PrefetchWindow,
    majority,
)

FEW = st.integers(-2, 2)


@given(st.lists(FEW, max_size=12))
def test_the_majority_is_the_value_of_more_than_half(values: list[int]) -> None:
    expected = [value for value, count in Counter(values).items() if 2 * count > len(values)]
    assert majority(values) == (expected[0] if expected else None)


@given(st.lists(FEW, max_size=30), st.sampled_from([4, 8, 32]), st.sampled_from([1, 2, 4]))
def test_the_trend_is_the_majority_of_the_smallest_window_that_has_one(
    places: list[int], history: int, splits: int
) -> None:
    """Windows of history/splits, twice that, ... of the newest differences."""
    trend = AccessTrend(history, splits)
    for place in places:
        trend.add(place)
    newest = [after - before for before, after in pairwise(places)][::-1][:history]
    windows, size = [], history // splits
    while not windows or len(windows[-1]) < len(newest):
        windows.append(newest[:size])
        size *= 2
    found = (
        value
        for window in windows
        for value, count in Counter(window).items()
        if 2 * count > len(window)
    )
    assert trend.find() == next(found, None)


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=20))
def test_the_window_is_bounded_and_shrinks_by_half_at_most(
    calls: list[tuple[int, bool]],
) -> None:
    window, before = PrefetchWindow(8), 0
    for hits, follows in calls:
        size = window.next(hits, follows_trend=follows)
        wanted = min(2 ** len(f"{hits:b}"), 8) if hits else int(follows)
        assert size == max(wanted, before // 2)
        before = size


def test_the_window_grows_while_what_it_reads_is_used_and_closes_without_hits() -> None:
    window = PrefetchWindow(8)
    hits = [0, 1, 2, 4, 8, 0, 0, 0, 0]
    sizes = [window.next(count, follows_trend=place == 0) for place, count in enumerate(hits)]
    assert sizes == [1, 2, 4, 8, 8, 4, 2, 1, 0]


def hit_rate(places: list[int]) -> tuple[float, float]:
    """Share of reads that were read ahead, and share of what was read ahead that was used."""
    prefetcher, ahead = Prefetcher(1 << 20), set[int]()
    hits = issued = 0
    for place in places:
        if place in ahead:
            ahead.remove(place)
            hits += 1
            prefetcher.used(place)
        else:
            wanted = set(prefetcher.missed(place)) - ahead
            issued += len(wanted)
            ahead |= wanted
    return hits / len(places), hits / max(issued, 1)


@pytest.mark.parametrize("stride", [1, 7, -3])
def test_nearly_all_reads_with_one_stride_are_foreseen(stride: int) -> None:
    covered, accurate = hit_rate([500_000 + stride * step for step in range(1000)])
    assert covered > 0.85
    assert accurate > 0.95


def test_noise_does_not_hide_a_trend() -> None:
    """One read in five is elsewhere: two of five differences are large, the others are 1.

    The misses there begin windows of their own, so fewer reads are foreseen."""
    places = [9000 * step % 99_991 if step % 5 == 4 else 300_000 + step for step in range(2000)]
    assert hit_rate(places)[0] > 0.35


def test_two_alternating_streams_have_no_majority() -> None:
    places = [step // 2 + 500_000 * (step % 2) for step in range(2000)]
    assert hit_rate(places)[0] < 0.01


def test_random_reads_cause_almost_no_reads_ahead() -> None:
    places = [(step * step * 7919 + 17 * step) % 1_048_573 for step in range(2000)]
    prefetcher = Prefetcher(1 << 20)
    assert sum(len(prefetcher.missed(place)) for place in places) < 20


def test_no_place_outside_is_read_ahead() -> None:
    prefetcher = Prefetcher(10)
    wanted = [place for start in range(10) for place in prefetcher.missed(start)]
    assert wanted
    assert max(wanted) == 9
