"""Compiled loops over changes: by block as by single positions, and never outside of a block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.core.kernels.change_kernels import (
    add_in_blocks,
    divide_by_blocks,
    shift_positions,
)

SIZES = [3, 0, 2, 4]
ENDS = np.cumsum(SIZES)
FIRSTS = ENDS - SIZES
CHANGES = st.lists(st.tuples(st.sampled_from([0, 2, 3]), st.integers(0, 1), st.integers(-5, 5)))


@given(CHANGES)
def test_changes_by_block_are_added_where_their_block_lies(
    changes: list[tuple[int, int, int]],
) -> None:
    changes.sort(key=lambda change: change[0])
    values = np.arange(9, dtype=np.int32)
    expected = values.copy()
    for block, position, amount in changes:
        expected[FIRSTS[block] + position] += amount
    blocks, positions, amounts = np.array(changes, np.int32).reshape(-1, 3).T.copy()
    counts = np.bincount(blocks, minlength=4)
    assert add_in_blocks(values, FIRSTS, ENDS, (positions, amounts), counts)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_outside_of_its_block_changes_nothing(position: int) -> None:
    values = np.zeros(9, np.int32)
    changes = np.array([0, position], np.int32), np.ones(2, np.int32)
    assert not add_in_blocks(values, FIRSTS, ENDS, changes, np.array([2, -1, 0, 0]))
    assert not values.any()


@given(CHANGES)
def test_changes_of_a_table_are_divided_by_its_blocks(changes: list[tuple[int, int, int]]) -> None:
    changes.sort(key=lambda change: change[0])
    blocks, positions, amounts = np.array(changes, np.int64).reshape(-1, 3).T.copy()
    out = np.empty((2, len(changes)), np.int32)
    bounds = np.append(FIRSTS, ENDS[-1])
    counts = divide_by_blocks(FIRSTS[blocks] + positions, amounts, bounds, out)
    np.testing.assert_array_equal(counts, np.bincount(blocks, minlength=4))
    np.testing.assert_array_equal(out, [positions, amounts])


@given(CHANGES)
def test_shifted_positions_are_those_in_the_table(changes: list[tuple[int, int, int]]) -> None:
    changes.sort(key=lambda change: change[0])
    blocks, positions, _ = np.array(changes, np.int64).reshape(-1, 3).T.copy()
    out = np.empty(len(positions), np.int32)
    shift_positions(positions, np.searchsorted(blocks, np.arange(1, 5)), FIRSTS, out)
    np.testing.assert_array_equal(out, FIRSTS[blocks] + positions)
