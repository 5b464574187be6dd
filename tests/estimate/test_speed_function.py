"""Optimus' speed functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from motet.estimate.speed_function import SpeedFunctions, SpeedMode, speed

T = np.array([0.2, 0.3, 0.05, 0.01, 0.02, 64.0])
compiled = njit(speed)
counts = st.integers(1, 100)


@given(w=counts, p=counts)
def test_the_formulas_are_those_of_the_paper(w: int, p: int) -> None:
    t0, t1, t2, t3, t4, batch = T
    sync = 1 / (t0 * batch / w + t1 + t2 * w / p + t3 * w + t4 * p)
    asynchronous = w / (t0 + t1 * w / p + t2 * w + t3 * p)
    assert speed(int(SpeedMode.SYNC), T, w, p) == pytest.approx(sync, rel=1e-12)
    assert speed(int(SpeedMode.ASYNC), T, w, p) == pytest.approx(asynchronous, rel=1e-12)


@given(w=counts)
def test_jobs_without_servers_exchange_in_a_ring(w: int) -> None:
    ring = (w - 1) / w
    sync = 0.2 * 64 / w + 0.3 + 0.05 * ring + 0.01 * w
    assert speed(2, T, w, 0) == pytest.approx(1 / sync, rel=1e-12)
    assert speed(1, T, w, 0) == pytest.approx(w / (0.2 + 0.3 * ring + 0.05 * w), rel=1e-12)


@given(w=counts, p=st.integers(0, 100), mode=st.sampled_from([1, 2]))
def test_a_step_is_computing_and_communicating(w: int, p: int, mode: int) -> None:
    def step_s(computing: float, communicating: float) -> float:
        return 1 / speed(mode, T, w, p, computing, communicating)

    parts = step_s(1, 0) + step_s(0, 1) if p or mode == 2 else step_s(1, 1)
    assert step_s(1, 1) == pytest.approx(parts, rel=1e-9)
    assert step_s(3, 1) >= step_s(1, 1)
    assert step_s(1, 3) >= step_s(1, 1)


@given(w=counts, p=st.integers(0, 100), mode=st.sampled_from([0, 1, 2]))
def test_compiled_it_is_the_same(w: int, p: int, mode: int) -> None:
    args = (mode, T, float(w), float(p), 1.5, 2.5)
    np.testing.assert_allclose(compiled(*args), speed(*args), rtol=1e-14)


def test_a_step_that_takes_no_time_is_infinitely_fast() -> None:
    assert speed(1, [0.0] * 6, 1, 1) == speed(2, [0.0] * 6, 1, 1) == np.inf


def test_rows_are_evaluated_at_once() -> None:
    table = SpeedFunctions(np.array([0, 1, 2, 2]), np.tile(T, (4, 1)))
    found = table.steps_per_s([4, 4, 4, 0], 2)
    assert np.isnan(found[0])
    np.testing.assert_array_equal(found[1:], [speed(1, T, 4, 2), speed(2, T, 4, 2), 0.0])


@given(w=counts, p=counts, factor=st.floats(0.01, 10))
def test_exchanging_is_the_term_of_workers_per_server(w: int, p: int, factor: float) -> None:
    t0, t1, t2, t3, t4, batch = T
    sync = t0 * batch / w + t1 + factor * t2 * w / p + t3 * w + t4 * p
    asynchronous = (t0 + factor * t1 * w / p + t2 * w + t3 * p) / w
    assert speed(2, T, w, p, exchanging=factor) == pytest.approx(1 / sync, rel=1e-12)
    assert speed(1, T, w, p, exchanging=factor) == pytest.approx(1 / asynchronous, rel=1e-12)
