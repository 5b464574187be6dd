"""Damped Newton on the all-reduced Hessian, for small columns^2.

A key is a coefficient j, its row [w_j, value, damping, g_j, H_j]: the objective's value, gradient
and Hessian at w, summed over all workers, and the damping of the next step. In every epoch all
workers solve (H + damping diag(H)) step = g from the same table and evaluate their instances at
w - step. The owners apply the step if it has lowered the objective, else they increase the damping
(Levenberg 1944, Marquardt 1963): monotone, with quadratic convergence at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Array

_W, _VALUE, _DAMPING, _GRADIENT, _HESSIAN = range(5)
_LEAST_DAMPING, _FIRST_RETRY, _FACTOR = 1e-10, 1e-3, 10.0
# A predicted decrease below this part of the objective is smaller than its rounding.
_NEGLIGIBLE = 1e-15


@dataclass(frozen=True, eq=False)
class Expansion:
    """Sums over instances at a point: objective, gradient `(keys,)`, Hessian `(keys, keys)`."""

    value: float
    gradient: Array
    hessian: Array


def newton_row_width(key_count: int) -> int:
    """Return the numbers per key."""
    return _HESSIAN + key_count


def newton_delta_width(key_count: int) -> int:
    """Return the numbers per key of a delta: the point, its gradient, its Hessian."""
    return 2 + key_count


def initial_newton_rows(key_count: int) -> Array:
    """Return rows with zero coefficients, an infinite objective and the least damping."""
    rows = np.zeros((key_count, newton_row_width(key_count)))
    rows[:, _VALUE] = np.inf
    rows[:, _DAMPING] = _LEAST_DAMPING
    return rows


def newton_coefficients(rows: Array) -> Array:
    """Return the current coefficients w, `(keys,)`."""
    return rows[:, _W]


def newton_gradient_norm(rows: Array) -> float:
    """Return the largest entry of the gradient at w; infinite before the first step."""
    return float(np.abs(rows[:, _GRADIENT]).max()) if np.isfinite(rows[0, _VALUE]) else np.inf


def newton_candidate(rows: Array) -> Array | None:
    """Return the next point to try, `(keys,)`, from all rows; None if no step improves w."""
    value, damping = rows[0, _VALUE], rows[0, _DAMPING]
    if not np.isfinite(value):
        return rows[:, _W].copy()
    hessian = rows[:, _HESSIAN:].copy()
    diagonal = hessian.diagonal()
    np.fill_diagonal(hessian, np.where(diagonal > 0, diagonal * (1 + damping), 1.0))
    step = np.linalg.solve(hessian, rows[:, _GRADIENT])
    if rows[:, _GRADIENT] @ step <= _NEGLIGIBLE * abs(value):
        return None
    return np.asarray(rows[:, _W] - step)


def newton_delta(point: Array, expansion: Expansion, instances: int) -> Array:
    """Return a worker's delta for its instances' expansion at `point`."""
    return np.column_stack([instances * point, expansion.gradient, expansion.hessian])


def accept_or_damp(rows: Array, delta: Array, value: float, instances: int) -> None:
    """Move a block's rows to the point if its objective `value` is lower, else damp more."""
    damping = rows[:, _DAMPING]
    if value < rows[0, _VALUE]:
        rows[:, _W] = delta[:, 0] / instances
        rows[:, _GRADIENT:] = delta[:, 1:] / instances
        rows[:, _VALUE] = value
        rows[:, _DAMPING] = np.maximum(damping / _FACTOR, _LEAST_DAMPING)
    else:
        rows[:, _DAMPING] = np.maximum(damping * _FACTOR, _FIRST_RETRY)
