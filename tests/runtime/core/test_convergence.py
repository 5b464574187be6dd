"""The residual of an epoch, and what it says at the end of a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.core.application import Evaluation
from motet.runtime.core.convergence import (
    Convergence,
    has_converged,
    relative_change,
    with_residual,
)
from toy_app import ToyRegression


def test_without_a_residual_of_its_own_the_change_of_the_loss_counts() -> None:
    app, earlier = ToyRegression(), [Evaluation(11.0), Evaluation(10.0)]
    assert with_residual(app, Evaluation(9.0), earlier).residual == pytest.approx(0.1)
    assert with_residual(app, Evaluation(9.0, residual=7.0), earlier).residual == 7.0
    assert with_residual(app, Evaluation(9.0), []).residual == math.inf


def test_what_training_lowers_counts_where_it_is_not_the_loss() -> None:
    class Regularised(ToyRegression):
        lowered_metric = "objective"

    before, last = (Evaluation(9.0, {"objective": value}) for value in (5.0, 4.0))
    assert with_residual(Regularised(), last, [before]).residual == pytest.approx(0.2)
    assert with_residual(Regularised(), last, [Evaluation(9.0)]).residual == math.inf


def test_a_fluctuating_loss_is_compared_by_means() -> None:
    assert relative_change([8.0, 7.0, 9.0, 4.0], 2) == pytest.approx((7.5 - 6.5) / 2 / 7.5)
    assert relative_change([8.0, 7.0, 9.0], 2) == math.inf
    assert relative_change([6.0, 8.0, 9.0, 7.0], 2) == 0.0
    assert relative_change([6.0, 9.0], 1) == 0.5


@given(st.integers(0, 100))
def test_a_sampler_does_not_end_by_chance_while_its_loss_falls(seed: int) -> None:
    """Noise as large as 30 epochs' fall."""
    noise = np.random.default_rng(seed).normal(0, 0.03, 40)
    losses = (10 - 0.01 * np.arange(40) + noise).tolist()
    assert relative_change(losses, 10) > 1e-4
    flat = (10 + noise).tolist()
    assert relative_change(flat, 10) < 6e-4


@given(st.lists(st.floats(1e-6, 1e6), min_size=2), st.floats(1e-3, 1e3))
def test_the_change_does_not_depend_on_the_unit_of_the_loss(
    losses: list[float], unit: float
) -> None:
    scaled = [unit * loss for loss in losses]
    assert relative_change(scaled, 1) == pytest.approx(
        relative_change(losses, 1), rel=1e-9, abs=1e-9
    )


def test_a_tolerance_of_zero_never_ends_training() -> None:
    assert not has_converged(0.0, 0.0)
    assert has_converged(1e-3, 1e-3)
    assert Convergence.after("norm", 0.0, 0.0) is None


@pytest.mark.parametrize(
    ("residual", "text"),
    [
        (3.14e-4, "gradient norm 3.1e-04, above tol=1e-05"),
        (3.14e-6, "gradient norm 3.1e-06, at most tol=1e-05"),
        (math.inf, "too few epochs to measure the gradient norm"),
    ],
)
def test_the_state_is_told_in_one_line(residual: float, text: str) -> None:
    found = Convergence.after("gradient norm", residual, 1e-5)
    assert (str(found), found is not None and found.is_missed) == (text, residual > 1e-5)
