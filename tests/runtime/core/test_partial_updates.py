"""Updates of parts of a mini-batch add up to the update of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.domain.arrays import Indices
from motet.runtime.core.application import Update
from motet.runtime.core.partial_updates import (
    PartialUpdate,
    RunningSum,
    all_keys,
    rows_at,
    together,
)

KEY_COUNT = 8
KEYS = st.none() | st.sets(st.integers(0, KEY_COUNT - 1)).map(
    lambda keys: np.array(sorted(keys), np.int64)
)


def part_of(keys: Indices | None, value: float) -> PartialUpdate:
    count = KEY_COUNT if keys is None else len(keys)
    return PartialUpdate(keys, Update(np.full((count, 2), value), (value, 1.0)))


def spread(part: PartialUpdate) -> np.ndarray:
    """The delta at all keys."""
    whole = np.zeros((KEY_COUNT, 2))
    whole[slice(None) if part.keys is None else part.keys] = part.update.delta
    return whole


@settings(deadline=None)
@given(st.lists(KEYS, min_size=1, max_size=5))
def test_the_sum_of_parts_has_the_union_of_their_keys(keys: list[Indices | None]) -> None:
    parts = [part_of(one, 2.0**place) for place, one in enumerate(keys)]
    total = together(parts, KEY_COUNT)
    assert total is not None
    np.testing.assert_array_equal(spread(total), sum(map(spread, parts)))
    assert total.update.statistics == (2.0 ** len(keys) - 1, len(keys))
    if any(one is None for one in keys):
        assert total.keys is None
    else:
        assert total.keys is not None
        assert set(total.keys.tolist()) == {key for one in keys for key in one.tolist()}  # type: ignore[union-attr]


def test_no_updates_have_no_sum() -> None:
    assert together([], KEY_COUNT) is None
    assert RunningSum(None, KEY_COUNT).result is None


def test_one_update_is_its_own_sum() -> None:
    only = part_of(np.array([1, 5]), 3.0)
    assert together([only], KEY_COUNT) is only


def test_a_sum_does_not_change_the_updates() -> None:
    first = part_of(None, 1.0)
    total = RunningSum(None, KEY_COUNT)
    total.add(first)
    total.add(part_of(np.array([2]), 4.0))
    np.testing.assert_array_equal(first.update.delta, 1.0)


@pytest.mark.parametrize(
    ("keys", "wanted", "expected"),
    [
        (None, None, [0.0, 1.0, 2.0, 3.0]),
        (None, [1, 3], [1.0, 3.0]),
        ([2, 4, 7, 9], [4, 9], [1.0, 3.0]),
        ([2, 4, 7, 9], [], []),
        ([2, 4, 7, 9], [4, 5], None),
        ([2, 4, 7, 9], [10], None),
        ([2, 4, 7, 9], None, None),
    ],
)
def test_values_are_found_only_if_all_of_them_are_there(
    keys: list[int] | None, wanted: list[int] | None, expected: list[float] | None
) -> None:
    found = rows_at(
        np.arange(4.0),
        None if keys is None else np.array(keys),
        None if wanted is None else np.array(wanted, np.int64),
    )
    assert (None if found is None else found.tolist()) == expected


def test_of_no_keys_at_all_there_are_no_values() -> None:
    assert rows_at(np.empty(0), np.empty(0, np.int64), np.array([1])) is None


def test_one_part_keeps_its_very_keys() -> None:
    keys = np.array([3, 4])
    assert all_keys([keys]) is keys
    assert all_keys([keys, None]) is None
    assert all_keys([]) is not None
