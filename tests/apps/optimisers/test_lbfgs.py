"""L-BFGS on table rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess

from motet.apps.optimisers.lbfgs import LBFGS, DiagonalExpansion
from motet.domain.arrays import Array

Objective = Callable[[Array], DiagonalExpansion]


class Descent:
    """Epochs of workers that each hold some of `instances` with the same objective."""

    def __init__(
        self,
        objective: Objective,
        start: Array,
        shares: tuple[int, ...] = (4,),
        blocks: int = 1,
        has_intercept: bool = False,
    ) -> None:
        self.optimiser = LBFGS(*start.shape, has_intercept=has_intercept)
        self.rows = self.optimiser.initial_rows(start, objective(start), 1)
        self.values = [float(self.rows[0, 0])]
        self._objective, self._shares, self._blocks = objective, shares, blocks

    def epoch(self) -> bool:
        """Whether there was a step to try."""
        updates = []
        for instances in self._shares:
            step = self.optimiser.step(self.rows)
            if step is None:
                return False
            there = self._objective(self.optimiser.coefficients(self.rows) + step)
            sums = (there.value, there.gradient, there.diagonal)
            mine = DiagonalExpansion(*(instances * part for part in sums))
            updates.append(self.optimiser.update(self.rows, step, mine, instances))
        delta = np.sum([update.delta for update in updates], axis=0)
        statistics = tuple(map(float, np.sum([update.statistics for update in updates], axis=0)))
        for part in np.array_split(np.arange(len(self.rows)), self._blocks):
            block = np.ascontiguousarray(self.rows[part])
            self.optimiser.apply(block, delta[part], statistics, sum(self._shares))
            self.rows[part] = block
        self.values.append(float(self.rows[0, 0]))
        return True

    def run(self, epochs: int) -> Array:
        """The coefficients after at most so many epochs."""
        for _ in range(epochs):
            if not self.epoch():
                break
        return self.optimiser.coefficients(self.rows)


def with_opposite(w: Array) -> Array:
    """Two outputs whose sum is 0, `(keys, 2)`."""
    return np.stack([w, -w], axis=1)


def of_first(function: Callable[[Array], tuple[float, Array, Array]]) -> Objective:
    """A function of half the difference of two outputs, as an objective of both."""

    def objective(w: Array) -> DiagonalExpansion:
        value, gradient, diagonal = function((w[:, 0] - w[:, 1]) / 2)
        halves = np.stack([diagonal, diagonal], axis=1) / 4
        return DiagonalExpansion(float(value), with_opposite(gradient / 2), halves)

    return objective


def rosenbrock(x: Array) -> tuple[float, Array, Array]:
    return float(rosen(x)), rosen_der(x), np.abs(np.diag(rosen_hess(x)))


def quadratic(x: Array) -> tuple[float, Array, Array]:
    """Curvatures from 1e-6 to 1e6, every two neighbours correlated."""
    scale = np.logspace(-3, 3, len(x))
    hessian = np.eye(len(x)) + 0.4 * (np.eye(len(x), k=1) + np.eye(len(x), k=-1))
    away = scale * x - 1
    return float(away @ hessian @ away / 2), scale * (hessian @ away), scale**2


def test_a_badly_scaled_quadratic_is_solved_in_few_epochs() -> None:
    descent = Descent(of_first(quadratic), with_opposite(np.zeros(12)))
    found = descent.run(60)
    np.testing.assert_allclose(found, with_opposite(1 / np.logspace(-3, 3, 12)), rtol=1e-9)


def test_a_curved_valley_is_followed_to_its_minimum() -> None:
    found = Descent(of_first(rosenbrock), with_opposite(np.array([-1.2, 1.0, 0.5]))).run(200)
    np.testing.assert_allclose(found[:, 0], 1.0, rtol=1e-9)


def test_no_epoch_raises_the_objective() -> None:
    descent = Descent(of_first(rosenbrock), with_opposite(np.array([-1.2, 1.0])))
    descent.run(80)
    values = np.array(descent.values)
    assert (np.diff(values) <= 1e-12 * values[:-1]).all()
    assert (np.diff(values) == 0).any(), "a step was rejected"


@pytest.mark.parametrize(("shares", "blocks"), [((4,), 3), ((1, 3), 1), ((2, 5, 1), 4)])
def test_any_shares_and_blocks_take_the_same_steps(shares: tuple[int, ...], blocks: int) -> None:
    start = with_opposite(np.linspace(-1, 1, 4))
    alone = Descent(of_first(rosenbrock), start)
    spread = Descent(of_first(rosenbrock), start, shares, blocks)
    np.testing.assert_allclose(spread.run(12), alone.run(12), rtol=1e-9)


def test_at_the_minimum_there_is_nothing_to_try() -> None:
    descent = Descent(of_first(quadratic), with_opposite(np.zeros(3)))
    descent.run(100)
    assert not descent.epoch()


def test_a_step_to_an_infinite_objective_is_shortened() -> None:
    """-log(1 - x) - log(x + 1) + 5 x / 3 has a pole at -1 and 1."""

    def barrier(x: Array) -> tuple[float, Array, Array]:
        inside = np.abs(x) < 1
        value = -np.log1p(-(x**2), where=inside, out=np.full_like(x, -np.inf)).sum()
        gradient = 2 * x / np.where(inside, 1 - x**2, 1.0) + 5 / 3
        return float(value + 5 / 3 * x.sum()), gradient, np.full_like(x, 1e-3)

    found = Descent(of_first(barrier), with_opposite(np.zeros(2))).run(80)
    np.testing.assert_allclose(found[:, 0], (3 - np.sqrt(9 + 25)) / 5, rtol=1e-8)


@pytest.mark.parametrize("curvature", [0.0, 1e-20])
def test_a_column_of_no_curvature_gets_a_bounded_step_in_each_class(curvature: float) -> None:
    def objective(w: Array) -> DiagonalExpansion:
        diagonal = np.array([[curvature, curvature], [1.0, 1e-3]])
        return DiagonalExpansion(1.0, np.array([[1e-3, -1e-3], [0.0, 0.0]]), diagonal)

    descent = Descent(objective, np.zeros((2, 2)), has_intercept=True)
    step = descent.optimiser.step(descent.rows)
    assert step is not None
    bounded = 1e-3 / (0.3 * np.array([1.0, -1e-3]))
    np.testing.assert_allclose(step[0], bounded.mean() - bounded)


def test_large_models_keep_fewer_pairs() -> None:
    assert LBFGS(100, 10).history == 30
    assert LBFGS(101, 10).history == 10
    assert LBFGS(1000, 10).table.value_bytes == 8 * (3 + 10 * 23)
