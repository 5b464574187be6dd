"""Accelerated proximal gradient (FISTA) with adaptive restart, on the rows of a parameter server.

Minimises f(w) + g(w), f smooth: w_new = prox(y - step_size * f'(y)), y = w_new + b (w_new - w),
where b grows with every step since the last restart (Beck and Teboulle 2009). Momentum is thrown
away when it points uphill: (y_before - w) . (w - w_before) > 0 (O'Donoghue and Candes 2015,
gradient scheme).

A key is a coefficient; its row is [w, w_before, y, t], t being the counter of the momentum:
everything that a block needs to step by itself. Only the decision to restart takes the whole
model, so the workers, who all pull the same one, take it and report it as a statistic.
"""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Array

PROXIMAL_ROW_WIDTH = 4
_W, _W_BEFORE, _Y, _T = range(PROXIMAL_ROW_WIDTH)


def initial_proximal_rows(start: Array) -> Array:
    """Rows that begin at the coefficients `start`, `(keys,)`."""
    return np.stack([start, start, start, np.ones_like(start)], axis=1)


def proximal_coefficients(rows: Array) -> Array:
    """The present coefficients w, `(keys,)`."""
    return rows[:, _W]


def needs_restart(rows: Array) -> bool:
    """Whether momentum points uphill; needs the rows of all keys."""
    uphill = (rows[:, _Y] - rows[:, _W]) @ (rows[:, _W] - rows[:, _W_BEFORE])
    return bool(uphill > 0)


def extrapolate(rows: Array, restart: bool) -> tuple[Array, Array]:
    """The point y where the gradient is taken, the momentum counter after it; both `(keys,)`."""
    counter = np.ones_like(rows[:, _T]) if restart else rows[:, _T]
    next_counter = (1 + np.sqrt(1 + 4 * counter**2)) / 2
    momentum = (counter - 1) / next_counter
    return rows[:, _W] + momentum * (rows[:, _W] - rows[:, _W_BEFORE]), next_counter


def proximal_step(
    rows: Array, gradient: Array, restart: bool, step_size: float, l1: float = 0.0
) -> None:
    """One step in place, from the gradient of f at y; g is l1 times the sum of absolute values."""
    point, counter = extrapolate(rows, restart)
    rows[:, _W_BEFORE] = rows[:, _W]
    rows[:, _W] = soft_threshold(point - step_size * gradient, step_size * l1)
    rows[:, _Y] = point
    rows[:, _T] = counter


def soft_threshold(values: Array, threshold: float) -> Array:
    """Towards zero by `threshold`, but not beyond: the proximal operator of the l1 norm."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - threshold, 0.0))
