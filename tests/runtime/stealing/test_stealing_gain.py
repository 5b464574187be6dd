"""Benefit: help that makes mini-batches longer is not accepted any more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.stealing.stealing_gain import Benefit


def after(alone_us: float, helped_us: float, batches: int) -> list[bool]:
    """Whether each mini-batch is divided, if somebody always wants to help."""
    benefit, divided = Benefit(), []
    for _ in range(batches):
        divided.append(benefit.may_divide)
        if benefit.may_divide:
            benefit.helped(helped_us)
        else:
            benefit.alone(alone_us)
    return divided


def test_help_that_saves_time_is_always_accepted() -> None:
    assert after(alone_us=4.0, helped_us=1.5, batches=50) == [False] + [True] * 49


def test_help_that_costs_time_ends_after_three_mini_batches() -> None:
    divided = after(alone_us=1.5, helped_us=4.0, batches=19)
    assert divided[:5] == [False, True, True, True, False]
    assert sum(divided) == 3


def test_it_is_tried_again_ever_more_rarely() -> None:
    divided = after(alone_us=1.5, helped_us=4.0, batches=3_000)
    assert sum(divided) <= 3 * 12


@given(alone_us=st.floats(1.0, 100.0), helped_us=st.floats(1.0, 100.0))
def test_it_ends_up_with_the_faster_way(alone_us: float, helped_us: float) -> None:
    divided = after(alone_us, helped_us, 400)
    if helped_us < alone_us:
        assert all(divided[1:])
    else:
        assert sum(divided) < 40
