"""Consolidation keeps a gang in one rack where it can."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.placement.machines import consolidated
from motet.placement.racks import RackPlanner, consolidated_in_racks

machines = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=8)


def place(free: list[int], gpus: int, rack: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return consolidated_in_racks(np.array(free), gpus, np.array(rack))


@given(machines, st.integers(1, 25))
def test_a_fitting_gang_gets_free_gpus_in_the_fewest_racks(
    rows: list[tuple[int, int]], gpus: int
) -> None:
    free, rack = np.array(rows).T.copy()
    if gpus > free.sum():
        with pytest.raises(ValueError, match=f"{gpus} GPUs requested"):
            RackPlanner(rack).place(free, gpus, 0)
        return
    found = RackPlanner(rack).place(free, gpus, 0)
    assert sum(found.counts) == gpus
    assert list(found.machines) == sorted(set(found.machines))
    assert all(0 < count <= free[m] for m, count in zip(*found, strict=True))
    by_rack = np.sort(np.bincount(rack, free))[::-1]
    fewest = np.searchsorted(np.cumsum(by_rack), gpus) + 1
    assert len({int(rack[machine]) for machine in found.machines}) == fewest


@given(machines, st.integers(1, 25))
def test_in_one_rack_it_is_plain_consolidation(rows: list[tuple[int, int]], gpus: int) -> None:
    free = np.array(rows)[:, 0].copy()
    if gpus <= free.sum():
        one_rack = np.zeros(len(free), dtype=np.int64)
        assert consolidated_in_racks(free, gpus, one_rack) == consolidated(free, gpus)


def test_one_rack_is_worth_more_machines() -> None:
    assert place([4, 2, 2, 4], 8, [0, 0, 0, 1]) == ((0, 1, 2), (4, 2, 2))


def test_the_rack_with_the_fewest_machines_is_chosen_then_the_fullest() -> None:
    assert place([2, 2, 2, 4, 2], 6, [0, 0, 0, 1, 1]) == ((3, 4), (4, 2))
    assert place([4, 4, 4, 4, 4], 8, [0, 0, 0, 1, 1]) == ((3, 4), (4, 4))


def test_a_single_machine_is_chosen_by_tightest_fit() -> None:
    assert place([4, 2, 4], 2, [0, 1, 1]) == ((1,), (2,))
