from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.remote_memory.core.batch_eviction import (
    least_active,
    lightly_active_probability,
    slabs_to_ask,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(st.integers(0, 30), st.integers(0, 12), st.integers(0, 20), st.integers(0, 99))
def test_at_most_twice_as_many_owners_are_asked_as_slabs_are_needed(
    mapped: int, evict: int, extra: int, seed: int
) -> None:
    asked = slabs_to_ask(range(mapped), evict, extra, rng(seed))
    assert len(asked) == len(set(asked)) == min(mapped, evict + min(extra, evict))


def test_the_least_active_of_those_asked_are_evicted() -> None:
    activity = {"a": 5.0, "b": 0.5, "c": 9.0, "d": 2.0}
    assert least_active(["a", "b", "c", "d"], activity, 2) == ["b", "d"]


def test_an_owner_that_does_not_answer_is_evicted_first() -> None:
    assert least_active(["a", "b"], {"a": 0.1}, 1) == ["b"]


@pytest.mark.parametrize(
    ("evict", "extra", "busy"), [(10, 0, 0.1), (10, 5, 0.3), (10, 10, 0.4), (3, 2, 0.5)]
)
def test_the_probability_formula_agrees_with_simulated_evictions(
    evict: int, extra: int, busy: float
) -> None:
    """Formula of 2.5.2, against the functions that the lender runs."""
    random, runs, succeeded = rng(1), 4000, 0
    for _ in range(runs):
        is_busy = random.random(100) < busy
        asked = slabs_to_ask(range(100), evict, extra, random)
        victims = least_active(asked, {slab: float(is_busy[slab]) for slab in asked}, evict)
        succeeded += not any(is_busy[slab] for slab in victims)
    expected = lightly_active_probability(evict, extra, busy)
    assert succeeded / runs == pytest.approx(expected, abs=4 * 0.5 / runs**0.5)


def test_without_extra_owners_the_formula_is_that_of_random_evictions() -> None:
    assert lightly_active_probability(10, 0, 0.2) == pytest.approx(0.8**10)
    assert lightly_active_probability(10, 10, 0.0) == 1
