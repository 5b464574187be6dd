"""Mini-batches are not split where splitting makes them longer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.stealing.stealing_gain import StealingGain


def after(whole_us: float, split_us: float, batches: int) -> list[bool]:
    """Whether each mini-batch is split, if there is always a thief."""
    gain, is_split = StealingGain(), []
    for _ in range(batches):
        is_split.append(gain.may_split)
        if gain.may_split:
            gain.add_split(split_us)
        else:
            gain.add_whole(whole_us)
    return is_split


def test_splitting_that_saves_time_goes_on() -> None:
    assert after(whole_us=4.0, split_us=1.5, batches=50) == [False] + [True] * 49


def test_splitting_that_costs_time_ends_after_three_mini_batches() -> None:
    is_split = after(whole_us=1.5, split_us=4.0, batches=19)
    assert is_split[:5] == [False, True, True, True, False]
    assert sum(is_split) == 3


def test_it_is_tried_again_after_growing_pauses() -> None:
    is_split = after(whole_us=1.5, split_us=4.0, batches=3_000)
    assert sum(is_split) <= 3 * 12


@given(whole_us=st.floats(1.0, 100.0), split_us=st.floats(1.0, 100.0))
def test_it_ends_up_with_the_faster_way(whole_us: float, split_us: float) -> None:
    is_split = after(whole_us, split_us, 400)
    if split_us < whole_us:
        assert all(is_split[1:])
    else:
        assert sum(is_split) < 40
