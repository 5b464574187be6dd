"""Gangs get all of their GPUs or none, in order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.allocation.fill import fill, fill_running_first, filled_in_order
from motet.domain.arrays import read_only
from motet.domain.wait import Wait

demands = st.lists(st.integers(1, 6), max_size=12)


@given(demands=demands, free=st.integers(0, 12), may_overtake=st.booleans(), data=st.data())
def test_every_job_that_fits_in_order_gets_its_gpus(
    demands: list[int], free: int, may_overtake: bool, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(demands))))
    filled = fill(
        np.array(order, dtype=np.int64),
        np.array(demands, dtype=np.int64),
        free,
        may_overtake=may_overtake,
    )
    left, head_waits = free, False
    for place, row in enumerate(order):
        assert filled.reasons.position[row] == place
        assert filled.reasons.free_gpus[row] == left
        if head_waits and not may_overtake:
            assert (filled.gpus[row], filled.reasons.code[row]) == (0, Wait.BEHIND_HEAD)
        elif demands[row] > left:
            assert (filled.gpus[row], filled.reasons.code[row]) == (0, Wait.TOO_FEW_GPUS)
            head_waits = True
        else:
            assert (filled.gpus[row], filled.reasons.code[row]) == (demands[row], Wait.RUNS)
            left -= demands[row]
    assert filled.free_gpus == left


def test_rows_that_are_not_in_the_order_get_nothing() -> None:
    filled = fill(np.array([2]), np.array([1, 1, 1]), 3, may_overtake=True)
    assert filled.gpus.tolist() == [0, 0, 1]


@given(
    rows=st.lists(st.tuples(st.integers(1, 6), st.booleans()), max_size=12),
    free=st.integers(0, 12),
    may_overtake=st.booleans(),
    data=st.data(),
)
def test_rows_with_gpus_are_filled_before_the_others(
    rows: list[tuple[int, bool]], free: int, may_overtake: bool, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(rows))))
    gpus = np.array([each for each, _ in rows], dtype=np.int64)
    held = np.array([each if runs else 0 for each, runs in rows], dtype=np.int64)
    in_order = sorted(order, key=lambda row: held[row] == 0)
    found, expected = (
        fill_running_first(
            np.array(order, dtype=np.int64), held, gpus, free, may_overtake=may_overtake
        ),
        fill(np.array(in_order, dtype=np.int64), gpus, free, may_overtake=may_overtake),
    )
    assert found.gpus.tolist() == expected.gpus.tolist()
    assert found.free_gpus == expected.free_gpus
    for name in ("code", "free_gpus", "position"):
        of_found, of_expected = (getattr(each.reasons, name) for each in (found, expected))
        assert of_found.tolist() == of_expected.tolist()


def test_requests_that_can_be_written_need_no_further_compilation() -> None:
    rows, requests = np.arange(3), np.ones(3, dtype=np.int64)
    fill(rows, read_only(requests), 2, may_overtake=True)
    compiled = set(filled_in_order.signatures)
    fill(rows, requests, 2, may_overtake=True)
    assert set(filled_in_order.signatures) == compiled
