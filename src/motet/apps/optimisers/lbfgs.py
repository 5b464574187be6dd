"""L-BFGS on the rows of a parameter server, from the all-reduced gradient of the whole data set.

A key has K coefficients (one per class), its row is

    [value, step length, pairs | w | gradient | diagonal | m steps | m changes of the gradient]

with K numbers in each part after the first: the objective, its gradient and the diagonal of its
Hessian at w, and the last accepted steps with the changes of the gradient along them. In every
epoch all workers compute the same direction from the same table (the two-loop recursion, Nocedal
and Wright, Numerical Optimization, 2006, Algorithms 7.4 and 7.5) and evaluate their instances at
w + step length * direction. The owners accept the step, or shorten it for the next epoch.

The recursion starts from the inverse diagonal of the Hessian at w, scaled by the newest pair
(7.20). On classes that are almost separable this takes a third of the epochs, because the
curvatures of columns and classes then differ much and change on the way. With an intercept,
entries below 0.3 of its entry for the class are raised to that: instances whose class is certain
have no curvature, so that a column which only they have would get steps without bound. On 4,000 raw
images of MNIST, which are separable, every second step would be rejected. If K > 1, the
coefficients of a key must sum to 0 at the optimum (softmax with a penalty) and at the start: all
steps keep that sum.

A step is accepted for a sufficient decrease (Armijo), or if the objective is lower up to its
rounding and the slope has changed as on a parabola (Hager and Zhang, A new conjugate gradient
method with guaranteed descent, SIAM J. Optim. 2005, "approximate Wolfe"). The latter still works
where values of the objective differ only by rounding, so the coefficients become as precise as the
gradient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.core.application import ModelTable, Update

LBFGS_STATISTICS = ("value", "slope", "new_slope", "moved")
"""What every worker reports beside its delta, each a sum over its instances."""

# Small tables keep more pairs: on badly scaled columns they save up to half of the epochs.
_LONG_HISTORY, _SHORT_HISTORY, _LONG_HISTORY_COEFFICIENTS = 30, 10, 1000

_VALUE, _LENGTH, _PAIRS, _HEAD = range(4)
_W, _GRADIENT, _DIAGONAL, _STEPS = range(4)
_SUFFICIENT, _ROUNDING = 1e-4, 1e-12
# A predicted decrease below this part of the objective is smaller than the gradient's rounding.
_NEGLIGIBLE = 1e-24
_LEAST_CURVATURE = 1e-8
_LEAST_DIAGONAL = 0.3
_SHORTEST, _LONGEST = 0.1, 0.5


@dataclass(frozen=True, eq=False)
class DiagonalExpansion:
    """Sums over instances at a point: objective, gradient and the diagonal of the Hessian.

    The latter two: `(keys, outputs)`.
    """

    value: float
    gradient: Array
    diagonal: Array


@dataclass(frozen=True)
class LBFGS:
    """The optimiser of `keys` x `outputs` coefficients; its state is in the table's rows.

    `has_intercept`: the last key is the intercept, and all other columns are standardised.
    """

    keys: int
    outputs: int
    has_intercept: bool = False

    @property
    def history(self) -> int:
        """The number of pairs that are kept."""
        is_small = self.keys * self.outputs <= _LONG_HISTORY_COEFFICIENTS
        return _LONG_HISTORY if is_small else _SHORT_HISTORY

    @property
    def table(self) -> ModelTable:
        """Rows as above; a delta has the step, and the gradient and the diagonal after it."""
        width = _HEAD + self.outputs * (_STEPS + 2 * self.history)
        delta_shape = (3 * self.outputs,)
        return ModelTable(self.keys, (width,), np.dtype(np.float64), delta_shape=delta_shape)

    def initial_rows(self, start: Array, there: DiagonalExpansion, instances: int) -> Array:
        """Return rows that begin at `start: (keys, outputs)`; `there`: of all instances."""
        rows = np.zeros(self.table.shape)
        rows[:, [_VALUE, _LENGTH]] = there.value / instances, 1.0
        parts = self._parts(rows)
        parts[:, _W] = start
        parts[:, _GRADIENT] = there.gradient / instances
        parts[:, _DIAGONAL] = there.diagonal / instances
        return rows

    def coefficients(self, rows: Array) -> Array:
        """Return the current coefficients w, `(keys, outputs)`."""
        return np.ascontiguousarray(self._parts(rows)[:, _W])

    def gradient_norm(self, rows: Array) -> float:
        """Return the largest entry of the gradient at w."""
        return float(np.abs(self._parts(rows)[:, _GRADIENT]).max())

    def step(self, rows: Array) -> Array | None:
        """Return the step to try from w, `(keys, outputs)`, from all rows; None: w is optimal."""
        value, length, pairs = rows[0, :_HEAD]
        parts = np.ascontiguousarray(self._parts(rows).swapaxes(0, 1))
        gradient, changes = parts[_GRADIENT], parts[_STEPS + self.history :]
        diagonal = parts[_DIAGONAL]
        least = _LEAST_DIAGONAL * self.has_intercept * diagonal[-1]
        inverse = _InverseDiagonal(diagonal, least)
        last = range(int(pairs))[::-1][: self.history]
        places = [number % self.history for number in last]
        kept = [(parts[_STEPS + place], changes[place]) for place in places]
        step = -length * _two_loops(gradient, kept, inverse)
        return step if -_dot(gradient, step) > _NEGLIGIBLE * abs(value) else None

    def update(self, rows: Array, step: Array, there: DiagonalExpansion, instances: int) -> Update:
        """Return a worker's update; `there`: of its instances, after the step."""
        delta = np.concatenate([instances * step, there.gradient, there.diagonal], axis=1)
        slope = instances * _dot(self._parts(rows)[:, _GRADIENT], step)
        new_slope = _dot(there.gradient, step)
        return Update(delta, (there.value, slope, new_slope, float(instances)))

    def no_update(self) -> Update:
        """Return the update that leaves the rows as they are."""
        return Update(np.zeros((self.keys, 3 * self.outputs)), (0.0,) * len(LBFGS_STATISTICS))

    def apply(
        self, rows: Array, delta: Array, statistics: tuple[float, ...], instances: int
    ) -> None:
        """Make the step in a block's rows if it is good enough, else shorten the next one."""
        value, slope, new_slope, moved = (number / instances for number in statistics)
        if not moved:
            return
        before = rows[0, _VALUE]
        if not _is_accepted(before, value, slope, new_slope):
            rows[:, _LENGTH] *= _shortening(before, value, slope)
            return
        parts, means = self._parts(rows), delta.reshape(len(rows), 3, -1) / instances
        step, gradient, diagonal = means.swapaxes(0, 1)
        if new_slope - slope > -_LEAST_CURVATURE * slope:
            place = _STEPS + int(rows[0, _PAIRS]) % self.history
            parts[:, place] = step
            parts[:, place + self.history] = gradient - parts[:, _GRADIENT]
            rows[:, _PAIRS] += 1
        parts[:, _W] += step
        parts[:, _GRADIENT], parts[:, _DIAGONAL] = gradient, diagonal
        rows[:, [_VALUE, _LENGTH]] = value, 1.0

    def _parts(self, rows: Array) -> Array:
        """Return the parts of rows from w on, a view, `(keys, 3 + 2 history, outputs)`."""
        return rows[:, _HEAD:].reshape(len(rows), -1, self.outputs)


class _InverseDiagonal:
    """The first approximation of the inverse Hessian; of several outputs the sum stays 0."""

    def __init__(self, diagonal: Array, least: Array) -> None:
        divisors = np.maximum(diagonal, least)
        self._divisors = np.where(divisors > 0, divisors, np.inf)

    def __matmul__(self, gradient: Array) -> Array:
        divided = gradient / self._divisors
        if divided.shape[1] > 1:
            divided -= divided.mean(axis=1, keepdims=True)
        return np.asarray(divided)


def _two_loops(
    gradient: Array, newest_first: list[tuple[Array, Array]], inverse: _InverseDiagonal
) -> Array:
    """Algorithm 7.4: the product of the approximate inverse Hessian and the gradient."""
    product = gradient.copy()
    curvatures = [_dot(step, change) for step, change in newest_first]
    factors = []
    for (step, change), curvature in zip(newest_first, curvatures, strict=True):
        factors.append(_dot(step, product) / curvature)
        product -= factors[-1] * change
    direction = inverse @ product
    if newest_first:
        newest = newest_first[0][1]
        direction *= curvatures[0] / _dot(newest, inverse @ newest)
    for (step, change), curvature, factor in list(
        zip(newest_first, curvatures, factors, strict=True)
    )[::-1]:
        direction += (factor - _dot(change, direction) / curvature) * step
    return direction


def _is_accepted(before: float, value: float, slope: float, new_slope: float) -> bool:
    if value <= before + _SUFFICIENT * slope:
        return True
    is_level = value <= before + _ROUNDING * abs(before)
    return bool(is_level and new_slope <= (2 * _SUFFICIENT - 1) * slope)


def _shortening(before: float, value: float, slope: float) -> float:
    """Return the minimum of the parabola through both values and the slope, within limits."""
    if not np.isfinite(value):
        return _SHORTEST
    return float(np.clip(-slope / (2 * (value - before - slope)), _SHORTEST, _LONGEST))


def _dot(one: Array, other: Array) -> float:
    return float(np.vdot(one, other))
