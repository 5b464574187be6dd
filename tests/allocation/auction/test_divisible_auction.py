"""Where GPUs can be divided: the theorems about the partial-allocation mechanism, as properties.

Linear values of two kinds of GPUs: homogeneous of degree one, as Cole, Gkatzelis and Goel (EC 2013)
ask for.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from example_count import examples
from two_kinds_of_gpus import kept, log_product, proportionally_fair, utility

value = st.floats(0.05, 20)
pairs = st.tuples(value, value)
markets = st.lists(pairs, min_size=2, max_size=6).map(np.array)


@settings(max_examples=examples(40))
@given(markets)
def test_the_closed_form_is_the_optimum(values: np.ndarray) -> None:
    count = len(values)

    def loss(flat: np.ndarray) -> float:
        got = flat.reshape(count, 2)
        return -float(np.log(np.maximum((values * got).sum(axis=1), 1e-12)).sum())

    clears = {"type": "ineq", "fun": lambda flat: 1 - flat.reshape(count, 2).sum(axis=0)}
    start = np.full(2 * count, 1 / count)
    found = minimize(loss, start, bounds=[(0, 1)] * (2 * count), constraints=clears)
    best = log_product(values, proportionally_fair(values))
    assert best >= -found.fun - 1e-6
    np.testing.assert_allclose(proportionally_fair(values).sum(axis=0), 1)


@settings(max_examples=examples(300))
@given(markets, pairs)
def test_no_lie_ever_helps(values: np.ndarray, lie: tuple[float, float]) -> None:
    lied = np.vstack([[lie], values[1:]])
    assert utility(lied, values[0], 0) <= utility(values, values[0], 0) * (1 + 1e-9)


@given(markets)
def test_every_winner_keeps_at_least_one_over_e(values: np.ndarray) -> None:
    got = proportionally_fair(values)
    assert all(1 / math.e <= kept(values, got, row) <= 1 + 1e-12 for row in range(len(values)))


@given(markets)
def test_before_payments_shares_are_guaranteed_and_envy_free(values: np.ndarray) -> None:
    worth = values @ proportionally_fair(values).T
    assert (np.diag(worth) >= values.sum(axis=1) / len(values) * (1 - 1e-9)).all()
    assert (worth <= np.diag(worth)[:, None] * (1 + 1e-9)).all()


@given(markets)
def test_after_payments_the_allocation_is_envy_free(values: np.ndarray) -> None:
    got = proportionally_fair(values)
    fractions = np.array([kept(values, got, row) for row in range(len(values))])
    worth = values @ (fractions[:, None] * got).T
    assert (worth <= np.diag(worth)[:, None] * (1 + 1e-9)).all()


def test_after_payments_less_than_the_share_may_be_left() -> None:
    """The counterexample to the sharing incentive: two alike would have half each, and keep 1/2."""
    alike = np.ones((2, 2))
    assert utility(alike, alike[0], 0) == pytest.approx(0.5 * 1.0)
