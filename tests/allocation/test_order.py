"""Orders are total and the same whichever way they are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation import order as orders
from motet.allocation.order import (
    JOINS,
    order_by,
    ordered_by_rank,
    places_in,
    ranks_along,
    ranks_running_first,
    running_first,
    running_first_within,
)
from policy_snapshots import jobs_of

rows = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from([-(2**62), -65, -3, -2, 0, 1, 64, 65, 2**62]) | st.integers(-3, 3),
        st.sampled_from([-1.5, -0.0, 0.0, 2.25]),
    ),
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


@given(
    rows=st.lists(st.tuples(st.sampled_from([0, 1, 2, 64, 65]), st.integers(0, 3)), max_size=30),
    data=st.data(),
)
def test_rows_of_equal_rank_in_a_group_are_ordered_by_number(
    rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    numbers = data.draw(st.permutations(range(len(rows))))
    group, rank = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    expected = sorted(range(len(rows)), key=lambda row: (*rows[row], numbers[row]))
    by_rank = np.array(data.draw(st.permutations(range(len(rows)))), dtype=np.int64)
    by_rank = by_rank[np.argsort(rank[by_rank], kind="stable")]
    found = ordered_by_rank(by_rank, group, rank, np.array(numbers, dtype=np.int64))
    assert found.tolist() == expected


@given(jobs=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=20))
def test_those_that_run_stand_first_and_all_by_submission(jobs: list[tuple[int, int]]) -> None:
    held, submit_us = (list(column) for column in zip(*jobs, strict=True)) if jobs else ([], [])
    table = jobs_of(len(jobs), {"held_gpus": held, "submit_us": submit_us})
    expected = sorted(range(len(jobs)), key=lambda row: (held[row] == 0, submit_us[row], row))
    assert running_first(table).tolist() == expected


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


steps = st.lists(
    st.tuples(
        st.lists(st.integers(0, 2), min_size=9, max_size=9),
        st.lists(st.sampled_from([None, None, None, 0, 1]), min_size=9, max_size=9),
    ),
    min_size=1,
    max_size=12,
)
"""GPUs of each row from then on, and the groups whose tail it joins before."""


@given(steps=steps, distance=st.sampled_from([4, 16, 2**20]), is_old=st.booleans())
def test_ranks_keep_the_order_of_places(steps: Any, distance: int, is_old: bool) -> None:
    """Whatever runs and moves, the rows stand as if every decision gave all of them new places.
    `is_old`: the first ranks are places, as earlier versions recorded them."""
    group, number = np.zeros(9, np.int64), np.arange(9)
    places = np.arange(9) if is_old else np.full(9, JOINS)
    ranks = places.copy()
    rank_rows = orders.ranks_running_first.py_func  # The distance is a constant of compiled code.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "_DISTANCE", distance)
        patch.setattr(orders, "_join", orders._join.py_func)
        patch.setattr(orders, "_put_running_first", orders._put_running_first.py_func)
        for gpus, joined in steps:
            for row, target in enumerate(joined):
                if target is not None:
                    group[row], places[row], ranks[row] = target, JOINS + 1, JOINS + 1
            order = order_by(group, ranks, number)
            assert order.tolist() == order_by(group, places, number).tolist()
            ranks = rank_rows(order, group, np.array(gpus), ranks)
            places = running_first_within(order, group, np.array(gpus))
    assert order_by(group, ranks, number).tolist() == order_by(group, places, number).tolist()


def test_ranks_of_rows_that_wait_stay_when_others_leave_and_start() -> None:
    group, gpus = np.zeros(1000, np.int64), np.zeros(1000, np.int64)
    gpus[:10] = 1
    ranks = ranks_running_first(np.arange(1000), group, gpus, np.full(1000, JOINS))
    later, left = gpus[1:].copy(), ranks[1:]
    later[500] = 1  # A small job overtakes.
    found = ranks_running_first(np.arange(999), group[1:], later, left)
    assert np.flatnonzero(found != left).tolist() == [500]
    assert left[8] < found[500] < left[9]


keys = st.lists(st.integers(0, 4), min_size=12, max_size=12)


@given(
    steps=st.lists(st.tuples(keys, st.sets(st.integers(0, 11))), min_size=1, max_size=15),
    apart=st.sampled_from([2, 4, 2**32]),
    is_old=st.booleans(),
)
def test_ranks_along_an_order_decide_ties_as_its_positions(
    steps: Any, apart: int, is_old: bool
) -> None:
    """Whatever the keys become, ties stand as in the order before. `apart`: little room is used up
    soon. `is_old`: the first ranks are positions, as earlier versions recorded them."""
    number = np.arange(12)
    places = np.arange(12) if is_old else np.full(12, JOINS)
    ranks = places.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orders, "_APART", apart)  # Constants of compiled code.
        patch.setattr(orders, "_ROOM", min(apart, 4))
        for name in ("_has_room", "_longest_ascending", "_next_that_stays", "_spread"):
            patch.setattr(orders, name, getattr(orders, name).py_func)
        for key, joining in steps:
            for row in joining:
                places[row] = ranks[row] = JOINS
            order = order_by(np.array(key), ranks, number)
            assert order.tolist() == order_by(np.array(key), places, number).tolist()
            ranks = orders.ranks_along.py_func(order, ranks)
            places = places_in(order)
            assert (np.diff(ranks[order]) > 0).all()


def test_ranks_along_an_order_change_for_the_rows_that_move() -> None:
    ranks = ranks_along(np.arange(1000), np.full(1000, JOINS))
    order = np.arange(1000).tolist()
    order.insert(700, order.pop(3))
    order.insert(20, order.pop(900))
    found = ranks_along(np.array(order), ranks)
    assert np.flatnonzero(found != ranks).tolist() == [3, 900]


def test_many_rows_can_come_between_two_others() -> None:
    """Each time ranks are spread, those of a few rows change, not those of all."""
    count, changes = 2000, 0
    ranks = np.full(count + 1000, JOINS)
    ranks[:count] = ranks_along(np.arange(count), np.full(count, JOINS))
    order = [*range(count)]
    for row in range(count, count + 1000):
        order.insert(1000, row)
        found = ranks_along(np.array(order), ranks)
        changes += int((found[:row] != ranks[:row]).sum())
        ranks = found
    assert changes < 1000 * 20
