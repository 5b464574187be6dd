"""The integer program against every placement there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.model_profile import profile_of
from motet.placement.ilp import IlpPlanner, best_placement, network_load, server_loads


def brute_force(free: list[int], gpus: int, loads: list[float]) -> float:
    best = float("inf")
    for workers in product(*(range(room + 1) for room in free)):
        if sum(workers) != gpus:
            continue
        for where in product(range(len(free)), repeat=len(loads)):
            servers = np.array([[at == machine for at in where] for machine in range(len(free))])
            load = network_load(np.array(workers), servers, np.array(loads))
            best = min(best, float(load.max()))
    return best


@settings(max_examples=examples(30))
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
    st.integers(1, 4),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_no_placement_has_a_smaller_largest_load(
    free: list[int], gpus: int, loads: list[int]
) -> None:
    if sum(free) < gpus:
        return
    sizes = np.array(loads, dtype=float)
    workers, servers = best_placement(np.array(free), gpus, sizes)
    assert workers.sum() == gpus
    assert (workers <= free).all()
    assert (servers.sum(axis=0) == 1).all()
    got = network_load(workers, servers, sizes).max()
    assert got == pytest.approx(brute_force(free, gpus, [float(load) for load in loads]))


def test_a_skewed_model_is_consolidated() -> None:
    planner = IlpPlanner([profile_of("VGG19")])
    assert planner.place(np.array([2, 4, 2]), 4, 0) == ((1,), (4,))


def test_the_largest_tensor_is_on_one_server() -> None:
    loads = server_loads(profile_of("VGG19"), 4)
    assert loads.sum() == pytest.approx(548.1)
    assert loads.max() / loads.sum() == pytest.approx(0.715 + 0.285 / 4, abs=1e-3)
