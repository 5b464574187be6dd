"""Orders are total and the same whichever way they are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation import order as orders
from motet.allocation.order import order_by, places_in, running_first_within

rows = st.lists(
    st.tuples(st.booleans(), st.integers(-3, 3), st.sampled_from([-1.5, -0.0, 0.0, 2.25])),
    max_size=40,
)


@pytest.mark.parametrize("many_rows", [0, 1000])
@given(rows=rows, data=st.data())
def test_rows_are_ordered_by_one_key_after_the_other(
    many_rows: int, rows: list[tuple[bool, int, float]], data: st.DataObject
) -> None:
    numbers = data.draw(st.permutations(range(len(rows))))
    expected = sorted(range(len(rows)), key=lambda row: (*rows[row], numbers[row]))
    keys = (
        np.array([row[0] for row in rows], dtype=bool),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=np.float64),
        np.array(numbers, dtype=np.int64),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "MANY_ROWS", many_rows)
        assert order_by(*keys).tolist() == expected


@given(order=st.permutations(range(9)))
def test_places_are_the_inverse_of_an_order(order: list[int]) -> None:
    places = places_in(np.array(order))
    assert [order[place] for place in places] == list(range(9))


@given(
    queue=st.lists(st.integers(0, 2), min_size=8, max_size=8).map(sorted),
    gpus=st.lists(st.integers(0, 2), min_size=8, max_size=8),
)
def test_inside_a_group_those_that_run_stand_first(queue: list[int], gpus: list[int]) -> None:
    order = np.arange(8)
    places = running_first_within(order, np.array(queue), np.array(gpus))
    expected = sorted(range(8), key=lambda row: (queue[row], gpus[row] == 0, row))
    assert np.argsort(places).tolist() == expected
