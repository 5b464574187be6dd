"""Changes of single integers: added exactly, also where a position occurs several times."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.core.application import ModelTable
from motet.runtime.core.changes import add_changes, all_changes

CHANGES = st.lists(st.tuples(st.integers(0, 11), st.integers(-5, 5)), max_size=30)


@given(CHANGES)
def test_every_change_is_added(changes: list[tuple[int, int]]) -> None:
    values = np.arange(12, dtype=np.int32).reshape(4, 3)
    expected = values.copy()
    for position, amount in changes:
        expected[position // 3, position % 3] += amount
    add_changes(values, np.array(changes, np.int64).reshape(-1, 2).T)
    np.testing.assert_array_equal(values, expected)


def test_a_position_outside_is_an_error_and_changes_nothing() -> None:
    values = np.zeros((2, 2), np.int32)
    with pytest.raises(IndexError):
        add_changes(values, np.array([[0, 4], [1, 1]]))
    assert not values.any()


def test_values_that_are_not_contiguous_are_refused() -> None:
    with pytest.raises(ValueError, match="copy"):
        add_changes(np.zeros((4, 3), np.int32)[:, :2], np.array([[0], [1]]))


def test_parts_follow_one_another() -> None:
    one, other = np.array([[1, 2], [3, 4]]), np.array([[5], [6]])
    np.testing.assert_array_equal(all_changes([one, other]), [[1, 2, 5], [3, 4, 6]])
    assert all_changes([]).shape == (2, 0)


@pytest.mark.parametrize(("dtype", "partition"), [("f8", "range"), ("i4", "hash")])
def test_only_tables_of_integers_by_range_exchange_changes(dtype: str, partition: str) -> None:
    with pytest.raises(ValueError, match="exchange='changes' is for integers"):
        ModelTable(4, (2,), np.dtype(dtype), partition, exchange="changes")  # type: ignore[arg-type]
