"""Damped Newton on table rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from motet.apps.optimisers.newton import (
    Expansion,
    accept_or_damp,
    initial_newton_rows,
    newton_candidate,
    newton_coefficients,
    newton_delta,
)
from motet.domain.arrays import Array


def step(rows: Array, expansions: Any, instances: int = 4) -> bool:
    """One epoch of one worker whose instances all have the same objective; False: converged."""
    point = newton_candidate(rows)
    if point is None:
        return False
    mean = expansions(point)
    total = Expansion(instances * mean.value, instances * mean.gradient, instances * mean.hessian)
    accept_or_damp(rows, newton_delta(point, total, instances), mean.value, instances)
    return True


def test_a_quadratic_takes_one_step_after_the_first_look() -> None:
    hessian = np.array([[2.0, 1.0], [1.0, 3.0]])
    target = np.array([1.0, -2.0])

    def quadratic(w: Array) -> Expansion:
        away = w - target
        return Expansion(float(away @ hessian @ away / 2), hessian @ away, hessian)

    rows = initial_newton_rows(2)
    assert step(rows, quadratic)
    assert step(rows, quadratic)
    np.testing.assert_allclose(newton_coefficients(rows), target, rtol=1e-8)


def test_a_step_that_would_raise_the_objective_is_damped_until_it_does_not() -> None:
    """sqrt(1 + w^2) from w = 2: a full Newton step goes to -8, the next to 512."""

    def bowl(w: Array) -> Expansion:
        root = np.sqrt(1 + w**2)
        return Expansion(float(root[0]), w / root, np.diag(root**-3))

    rows = initial_newton_rows(1)
    rows[:, 0] = 2.0
    seen = []
    while step(rows, bowl) and len(seen) < 60:
        seen.append(rows[0, 1])
    assert (np.diff(seen) <= 0).all()
    assert abs(newton_coefficients(rows)[0]) < 1e-6


def test_a_coefficient_without_curvature_stays_where_it_is() -> None:
    def flat(w: Array) -> Expansion:
        return Expansion(1.0 + float(w[0] ** 2 / 2), np.array([w[0], 0.0]), np.diag([1.0, 0.0]))

    rows = initial_newton_rows(2)
    rows[:, 0] = 3.0, 5.0
    for _ in range(3):
        step(rows, flat)
    np.testing.assert_allclose(newton_coefficients(rows), [0.0, 5.0], atol=1e-8)
    assert newton_candidate(rows) is None
