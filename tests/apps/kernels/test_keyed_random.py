"""Random numbers that belong to an id."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from keyed_numbers import keyed_numbers
from motet.apps.kernels.keyed_random import uniform_rows
from motet.apps.kernels.keyed_stream import next_state, stream_start, unit_float


@given(st.integers(0, 2**40), st.integers(0, 2**20), st.integers(0, 2**40))
def test_numbers_are_those_of_splitmix64(seed: int, stream: int, key: int) -> None:
    """Drawn as an array, and one after another in a compiled loop."""
    expected = keyed_numbers(seed, stream, key, 3)
    assert uniform_rows(seed, stream, np.array([key]), 3)[0].tolist() == expected
    state, drawn = stream_start(seed, stream, key), []
    for _ in expected:
        state = next_state(np.uint64(state))
        drawn.append(unit_float(np.uint64(state)))
    assert drawn == expected


@given(seed=st.integers(0, 2**32), order=st.permutations(range(12)))
def test_a_row_depends_on_its_own_key_alone(seed: int, order: list[int]) -> None:
    keys = np.array(order)
    together = uniform_rows(seed, 1, np.arange(12), 5)
    np.testing.assert_array_equal(uniform_rows(seed, 1, keys, 5), together[keys])
    np.testing.assert_array_equal(uniform_rows(seed, 1, keys, 3), together[keys, :3])


def test_seeds_streams_and_keys_give_different_numbers() -> None:
    keys = np.arange(1000)
    rows = [uniform_rows(seed, stream, keys, 4) for seed in (0, 1) for stream in (0, 1)]
    numbers = np.concatenate(rows).ravel()
    assert len(np.unique(numbers)) == numbers.size


def test_numbers_are_uniform_and_uncorrelated() -> None:
    numbers = uniform_rows(0, 0, np.arange(20_000), 4)
    assert kstest(numbers.ravel(), "uniform").pvalue > 1e-4
    correlation = np.corrcoef(numbers.T) - np.eye(4)
    assert np.abs(correlation).max() < 0.03
    assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.03
