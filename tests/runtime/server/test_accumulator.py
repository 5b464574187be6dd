"""The sum of a mini-batch: the same bits in whatever order the contributions arrive."""

from __future__ import annotations

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import Array
from motet.runtime.core.sums import Place
from motet.runtime.server.accumulator import Accumulator, Contribution

SIZE = 3
NUMBERS = st.floats(width=16)
DENSE = st.lists(NUMBERS, min_size=SIZE, max_size=SIZE).map(
    lambda values: Contribution(np.array(values), None, (values[0],))
)
OF_ROWS = st.tuples(st.integers(0, SIZE - 1), NUMBERS).map(
    lambda pair: Contribution(np.array([pair[1]]), np.array([pair[0]], np.uint32), ())
)
NONE = st.builds(lambda: Contribution(None, None, ()))
CONTRIBUTIONS = st.lists(st.one_of(DENSE, DENSE, OF_ROWS, NONE), min_size=2, max_size=4)


def new_sum() -> Accumulator:
    return Accumulator((SIZE,), np.dtype(np.float64))


def summed(accumulator: Accumulator, parts: list[Contribution], order: list[int]) -> bytes:
    """The bits of the sum and of its statistics; a contribution's memory is reused at once."""
    for position in order:
        one = parts[position].kept()
        accumulator.add(Place(position, len(parts)), one)
        if one.delta is not None:
            one.delta.fill(77.0)
    assert accumulator.is_complete
    total, statistics = accumulator.take()
    return total.tobytes() + np.array(statistics).tobytes()


@given(st.lists(CONTRIBUTIONS, min_size=1, max_size=3), st.data())
def test_the_order_of_arrival_does_not_change_the_sum(
    batches: list[list[Contribution]], data: st.DataObject
) -> None:
    in_turn, accumulator = new_sum(), new_sum()
    for parts in batches:
        order = data.draw(st.permutations(range(len(parts))))
        expected = summed(in_turn, parts, list(range(len(parts))))
        assert summed(accumulator, parts, order) == expected
        in_turn.reset()
        accumulator.reset()


@given(CONTRIBUTIONS, st.data())
def test_a_sum_continues_elsewhere_in_the_middle_of_a_mini_batch(
    parts: list[Contribution], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(parts))))
    count = data.draw(st.integers(0, len(parts) - 1))
    first, second = new_sum(), new_sum()
    for position in order[:count]:
        first.add(Place(position, len(parts)), parts[position].kept())
    second.unpack(first.pack())
    expected = summed(new_sum(), parts, list(range(len(parts))))
    assert summed(second, parts, order[count:]) == expected


def test_of_two_contributions_none_is_kept_in_memory_of_its_own() -> None:
    accumulator = new_sum()
    one: Array = np.ones(SIZE)
    accumulator.add(Place(1, 2), Contribution(one, None, ()))
    kept = accumulator.pack().early[1].delta
    accumulator.add(Place(0, 2), Contribution(one, None, ()))
    assert kept is not None
    assert np.shares_memory(accumulator.take()[0], kept)


@given(st.lists(CONTRIBUTIONS, min_size=1, max_size=3), st.data())
def test_a_sum_that_keeps_no_memory_has_the_same_bits(
    batches: list[list[Contribution]], data: st.DataObject
) -> None:
    kept, anew = new_sum(), Accumulator((SIZE,), np.dtype(np.float64), keeps_memory=False)
    for parts in batches:
        order = data.draw(st.permutations(range(len(parts))))
        assert summed(anew, parts, order) == summed(kept, parts, order)
        kept.reset()
        anew.reset()


def test_a_sum_that_keeps_no_memory_frees_it_between_mini_batches() -> None:
    accumulator = Accumulator((1000, 1000), np.dtype(np.float64), keeps_memory=False)
    tracemalloc.start()
    for position in range(2):
        accumulator.add(Place(position, 2), Contribution(np.ones((1000, 1000)), None, ()))
    assert accumulator.is_complete
    accumulator.reset()
    left_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left_bytes < 1e6
