"""Accelerated proximal gradient (FISTA) with adaptive restart, on the rows of a parameter server.

Minimises f(w) + g(w), f smooth: w_new = prox(y - step_size * f'(y)), y = w_new + b (w_new - w),
where b grows with every step since the last restart (Beck and Teboulle 2009). Momentum is
reset if it points uphill: (y_before - w) . (w - w_before) > 0 (O'Donoghue and Candes 2015,
gradient scheme).

A key is a coefficient; its row is [w, w_before, y, t], with t the counter of the momentum, so
that each block steps on its own. Only the decision to restart needs the whole model; the workers,
which all pull the same model, make it and report it as a statistic.
"""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Array

PROXIMAL_ROW_WIDTH = 4
_W, _W_BEFORE, _Y, _T = range(PROXIMAL_ROW_WIDTH)


def initial_proximal_rows(start: Array) -> Array:
    """Return rows that begin at the coefficients `start`, `(keys,)`."""
    return np.stack([start, start, start, np.ones_like(start)], axis=1)


def proximal_coefficients(rows: Array) -> Array:
    """Return the current coefficients w, `(keys,)`."""
    return rows[:, _W]


def needs_restart(rows: Array) -> bool:
    """Return whether momentum points uphill, from the rows of all keys."""
    uphill = (rows[:, _Y] - rows[:, _W]) @ (rows[:, _W] - rows[:, _W_BEFORE])
    return bool(uphill > 0)


def proximal_gradient_norm(rows: Array, step_size: float) -> float:
    """Return the largest entry of the gradient mapping (y - w) / step size of the last step."""
    return float(np.abs(rows[:, _Y] - rows[:, _W]).max()) / step_size


def extrapolate(rows: Array, restart: bool) -> tuple[Array, Array]:
    """Return the point y of the gradient and the next momentum counter, both `(keys,)`."""
    counter = np.ones_like(rows[:, _T]) if restart else rows[:, _T]
    next_counter = (1 + np.sqrt(1 + 4 * counter**2)) / 2
    momentum = (counter - 1) / next_counter
    return rows[:, _W] + momentum * (rows[:, _W] - rows[:, _W_BEFORE]), next_counter


def proximal_step(
    rows: Array, gradient: Array, restart: bool, step_size: float, l1: float = 0.0
) -> None:
    """Make one step in place with the gradient of f at y; g is l1 times the 1-norm."""
    point, counter = extrapolate(rows, restart)
    rows[:, _W_BEFORE] = rows[:, _W]
    rows[:, _W] = soft_threshold(point - step_size * gradient, step_size * l1)
    rows[:, _Y] = point
    rows[:, _T] = counter


def soft_threshold(values: Array, threshold: float) -> Array:
    """Shrink towards zero by `threshold`, not beyond: the proximal operator of the l1 norm."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0))
