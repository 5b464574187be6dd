"""Accelerated proximal gradient on table rows."""

from __future__ import annotations

import numpy as np
import pytest

from motet.apps.optimisers.proximal import (
    extrapolate,
    initial_proximal_rows,
    needs_restart,
    proximal_coefficients,
    proximal_step,
    soft_threshold,
)
from motet.apps.optimisers.whole_batch import require_whole_batch
from motet.domain.errors import BadInput
from motet.runtime.core.application import Step


def test_soft_threshold_by_hand() -> None:
    np.testing.assert_array_equal(
        soft_threshold(np.array([3.0, 1.0, -0.5, -2.0]), 1.0), [2.0, 0.0, 0.0, -1.0]
    )


def test_the_first_step_is_plain_proximal_gradient() -> None:
    rows = initial_proximal_rows(np.array([1.0, -1.0]))
    proximal_step(rows, np.array([2.0, 0.0]), False, step_size=0.5, l1=0.5)
    np.testing.assert_allclose(proximal_coefficients(rows), [0.0, -0.75])


def minimise(curvatures: np.ndarray[tuple[int], np.dtype[np.float64]], adaptive: bool) -> int:
    """Steps until a quadratic with these curvatures is below 1e-12 of its start."""
    rows = initial_proximal_rows(np.ones(len(curvatures)))
    for count in range(5000):
        w = proximal_coefficients(rows)
        if curvatures @ w**2 <= 1e-12 * curvatures.sum():
            return count
        restart = adaptive and needs_restart(rows)
        point, _ = extrapolate(rows, restart)
        proximal_step(rows, curvatures * point, restart, step_size=1 / curvatures.max())
    return 5000


def test_restarts_pay_on_an_ill_conditioned_quadratic() -> None:
    curvatures = np.logspace(-4, 0, 20)
    assert minimise(curvatures, adaptive=True) < 0.6 * minimise(curvatures, adaptive=False)


def test_blocks_step_alone_as_they_would_together() -> None:
    rng = np.random.default_rng(0)
    together = initial_proximal_rows(rng.normal(size=6))
    apart = together.copy()
    for number in range(8):
        gradient = rng.normal(size=6)
        proximal_step(together, gradient, number == 5, 0.1, l1=0.2)
        for part in (slice(0, 1), slice(1, 4), slice(4, 6)):
            proximal_step(apart[part], gradient[part], number == 5, 0.1, l1=0.2)
    np.testing.assert_array_equal(apart, together)


def test_mini_batches_are_refused() -> None:
    with pytest.raises(BadInput, match="an epoch has 2 mini-batches"):
        require_whole_batch(Step(0, 0, 2, 0, 5, 10, 0), "x")
