"""Memory times seconds by borrower."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.core.borrowed_time import BorrowedTime


def test_slabs_count_from_one_change_to_the_next() -> None:
    time = BorrowedTime(slab_bytes=10)
    time.change("a", 1, 0)
    time.change("a", 1, 2_000_000)
    time.change("b", 1, 2_000_000)
    time.change("a", -2, 5_000_000)
    assert time.totals(9_000_000) == {"a": 80.0, "b": 70.0}


def test_only_borrowers_without_slabs_are_forgotten() -> None:
    time = BorrowedTime(slab_bytes=10)
    time.change("a", 1, 0)
    time.change("b", 1, 0)
    time.change("b", -1, 1_000_000)
    assert list(time.idle) == ["b"]
    time.forget(["a", "b"])
    assert time.totals(1_000_000) == {"a": 10.0}
    assert list(time.idle) == []


@given(st.lists(st.integers(0, 10**6), max_size=20), st.integers(0, 20))
def test_looking_changes_no_total(pauses: list[int], seed: int) -> None:
    looked, plain = BorrowedTime(7), BorrowedTime(7)
    for time in (looked, plain):
        time.change("a", 1 + seed, 0)
    now_us = 0
    for pause_us in pauses:
        now_us += pause_us
        looked.totals(now_us)
    assert looked.totals(now_us + 5) == plain.totals(now_us + 5)
