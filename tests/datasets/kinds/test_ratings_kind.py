"""Ratings: numbering by id, holding out, and test ratings of unknown users and items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.datasets import LabelledMatrix, Ratings
from motet.domain.errors import BadInput

CELLS = st.sets(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1)


def rated(*cells: tuple[int, int, float], source: str = "r") -> Ratings:
    users, items, values = (np.array(column) for column in zip(*cells, strict=True))
    return Ratings.from_ids(users, items, values.astype(float), source=source)


def cells_of(ratings: Ratings) -> set[tuple[int, int]]:
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    return set(zip(users.tolist(), items.tolist(), strict=True))


def test_positions_follow_the_order_of_the_ids():
    ratings = rated((30, 7, 1.0), (10, 9, 2.0), (30, 9, 3.0))
    assert (list(ratings.user_ids), list(ratings.users)) == ([10, 30], [1, 0, 1])
    assert (list(ratings.item_ids), list(ratings.items)) == ([7, 9], [0, 1, 1])
    assert ratings.shape == (2, 2)
    assert ratings.describe() == "3 ratings, 2 users x 2 items (75 % filled)"


@given(all_cells=CELLS, held_cells=CELLS)
def test_holding_out_removes_exactly_the_shared_cells(all_cells, held_cells):
    ratings = rated(*((user, item, 1.0) for user, item in sorted(all_cells)))
    held_out = rated(*((user, item, 5.0) for user, item in sorted(held_cells)))
    rest = ratings.without(held_out)
    assert cells_of(rest) == all_cells - held_cells
    assert set(rest.user_ids) == {user for user, _ in all_cells - held_cells}


def test_unknown_users_and_items_stay_with_position_minus_one_and_are_counted():
    train = rated((1, 1, 5.0), (2, 3, 4.0), source="train")
    test = rated((1, 3, 1.0), (9, 1, 2.0), (2, 8, 3.0), source="test").reindexed_like(train)
    assert (list(test.users), list(test.items)) == ([0, -1, 1], [1, 0, -1])
    assert (test.unknown_count, list(test.is_known)) == (2, [True, False, False])
    assert (test.rating_count, test.shape) == (3, (2, 2))
    assert test.notes == (
        "2 of 3 ratings are of users or items that train does not have; "
        "they count, predicted by the training mean",
    )


def test_the_same_ids_get_the_same_positions():
    train = rated((5, 1, 5.0), (2, 3, 4.0))
    again = rated((2, 3, 4.0), (5, 1, 5.0)).reindexed_like(train)
    assert (list(again.users), list(again.items)) == ([0, 1], [1, 0])
    assert again.notes == ()


def test_another_kind_of_training_data_is_refused():
    matrix = LabelledMatrix(np.ones((1, 1)), source="train")
    with pytest.raises(BadInput) as caught:
        rated((1, 1, 1.0), source="test").reindexed_like(matrix)
    assert str(caught.value) == (
        "test: holds ratings, training data train a matrix of numbers; give both of the same kind"
    )
