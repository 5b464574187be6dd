"""Planners give every gang that fits exactly its GPUs, each in its own way."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from motet.domain.model_profile import profile_of
from motet.placement.machines import consolidated, fewest_machines, fragments, spread
from motet.placement.planners import (
    ConsolidatingPlanner,
    CountPlanner,
    FragmentPlanner,
    RandomPlanner,
    SkewPlanner,
    SpreadPlanner,
)

free_lists = st.lists(st.integers(0, 5), min_size=1, max_size=7)
PLANNERS: dict[str, Any] = {
    "count": CountPlanner(),
    "consolidate": ConsolidatingPlanner(),
    "fragments": FragmentPlanner(),
    "skew": SkewPlanner([profile_of("VGG19")]),
    "spread": SpreadPlanner(),
    "random": RandomPlanner(np.random.default_rng(0)),
}


@pytest.mark.parametrize("planner", PLANNERS.values(), ids=PLANNERS)
@given(free=free_lists, gpus=st.integers(1, 20))
def test_a_gang_that_fits_gets_its_gpus_from_free_ones(
    planner: Any, free: list[int], gpus: int
) -> None:
    available = np.array(free)
    if gpus > available.sum():
        with pytest.raises(ValueError, match=f"{gpus} GPUs requested"):
            planner.place(available, gpus, 0)
        return
    place = planner.place(available, gpus, 0)
    assert sum(place.counts) == gpus
    assert list(place.machines) == sorted(set(place.machines))
    assert all(0 < count <= free[m] for m, count in zip(*place, strict=True))
    assert available.tolist() == free


@given(free_lists, st.integers(1, 20))
def test_consolidation_uses_as_few_machines_as_any_choice_could(free: list[int], gpus: int) -> None:
    if gpus > sum(free):
        return
    fewest = next(
        size
        for size in range(1, len(free) + 1)
        if any(sum(chosen) >= gpus for chosen in combinations(free, size))
    )
    assert len(consolidated(np.array(free), gpus).machines) == fewest
    assert fewest_machines(np.array(free), gpus) == fewest


def test_consolidation_leaves_the_large_gaps() -> None:
    assert consolidated(np.array([4, 2, 3]), 2) == ((1,), (2,))
    assert consolidated(np.array([4, 4, 1, 3]), 5) == ((0, 2), (4, 1))


def test_fragments_are_filled_from_the_fullest_machine_on() -> None:
    assert fragments(np.array([4, 1, 0, 2]), 4) == ((0, 1, 3), (1, 1, 2))


@given(free=free_lists, gpus=st.integers(1, 20))
def test_fragments_are_the_free_gpus_of_machines_in_ascending_order_of_them(
    free: list[int], gpus: int
) -> None:
    available, taken = np.array(free), [0] * len(free)
    assume(gpus <= available.sum())
    for machine in sorted(range(len(free)), key=free.__getitem__):
        taken[machine] = min(free[machine], gpus - sum(taken))
    machines = tuple(machine for machine, count in enumerate(taken) if count)
    assert fragments(available, gpus) == (machines, tuple(taken[each] for each in machines))


def test_spreading_leaves_machines_as_equally_full_as_it_can() -> None:
    assert spread(np.array([4, 1, 0, 2]), 4) == ((0, 3), (3, 1))
    assert spread(np.array([2, 2, 2]), 4) == ((0, 1, 2), (2, 1, 1))


def test_skewed_models_are_consolidated_and_others_fill_fragments() -> None:
    planner = SkewPlanner([profile_of("vgg-19"), profile_of("ResNet50")])
    free = np.array([1, 1, 2])
    assert planner.place(free, 2, 0) == ((2,), (2,))
    assert planner.place(free, 2, 1) == ((0, 1), (1, 1))
