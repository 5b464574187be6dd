"""Coordinate descent on working sets for the Lasso, if columns^2 does not fit into memory.

Only few coefficients of a solution are not 0, so a part of the columns decides it (as in Massias et
al. 2018, CELER). Two epochs alternate:

    even  all workers descend on the Gram matrix of the working set, starting from the table's
          coefficients w, and push the gradient g = X'(X w - y) of their instances at the result
    odd   all workers choose the next working set from w and g of the table, and push its Gram
          matrix over their instances

What all workers compute alike, they push weighted with their number of instances, so the owners'
mean is that result for any number of workers. The other coefficients stay, and the descent is
exact on the working set: the objective never rises, also where a solution has more coefficients
than a working set. A key is a coefficient; its row is [w_j, g_j, part of the set and its Gram].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from motet.apps.inputs.centred import Centred
from motet.domain.arrays import Array, Indices
from motet.runtime.core.application import Step

_W, _G, _SET = 0, 1, 2
_MOST_COLUMNS, _LEAST_COLUMNS = 1024, 64
# A solution has at most as many coefficients as instances; others have to find a place beside them.
_COLUMNS_PER_INSTANCE = 2
# Solutions for larger penalties have few coefficients.
_SPARSE_RATIO = 0.01
# Products of a descent, about 0.2 s; a descent that needs more goes on in a later epoch.
_MOST_PRODUCTS, _MOST_SWEEPS = 200_000_000, 10_000


@dataclass(frozen=True)
class WorkingSets:
    """The table of coefficients with a working set of at most `capacity` of `columns`."""

    columns: int
    capacity: int

    @classmethod
    def of(cls, rows: int, columns: int) -> WorkingSets:
        """For data of this shape."""
        wanted = min(_COLUMNS_PER_INSTANCE * rows + _LEAST_COLUMNS, _MOST_COLUMNS)
        return cls(columns, min(wanted, columns))

    def expect_to_hold(self, rows: int, l1: float, largest: float) -> bool:
        """Whether a solution for `l1` has a place in a set: few rows, or `l1` near the largest."""
        return rows <= _MOST_COLUMNS or l1 >= _SPARSE_RATIO * largest

    @property
    def row_width(self) -> int:
        """Numbers per key."""
        return _SET + math.ceil(self.capacity * (1 + self.capacity) / self.columns)

    def initial_rows(self) -> Array:
        """Coefficients 0, an empty working set."""
        rows = np.zeros((self.columns, self.row_width))
        rows[:, _SET:] = self._packed(np.array([], dtype=np.int64), np.empty((0, 0)), 1)
        return rows

    def coefficients(self, rows: Array) -> Array:
        """The current coefficients w, `(keys,)`."""
        return rows[:, _W]

    def delta(self, features: Centred, target: Array, model: Array, l1: float, step: Step) -> Array:
        """The instances' part of the new coefficients and gradient, or of the next Gram matrix."""
        delta = np.zeros(model.shape)
        count = len(target)
        if step.epoch % 2 == 0:
            weights = self._descended(model, l1)
            delta[:, _W] = count * weights
            delta[:, _G] = features.T @ (features @ weights - target)
        else:
            chosen = self._next_set(model, l1)
            part = Centred(features.matrix[:, chosen], features.centre[chosen])
            delta[:, _SET:] = self._packed(chosen, part.gram(), count)
        return delta

    def apply(self, rows: Array, delta: Array, step: Step) -> None:
        """Set what the epoch renews to the mean over the instances."""
        renewed = slice(_W, _SET) if step.epoch % 2 == 0 else slice(_SET, None)
        rows[:, renewed] = delta[:, renewed] / step.instances

    def violation(self, rows: Array, l1: float) -> float:
        """By how much the coefficients miss the optimality conditions, at most."""
        return float(_excess(rows[:, _W], rows[:, _G], l1).max())

    def _descended(self, model: Array, l1: float) -> Array:
        """The coefficients after a descent on the working set, `(keys,)`."""
        from motet.apps.optimisers.coordinate_descent import descend_coordinates

        chosen, gram = self._unpacked(model)
        weights = model[:, _W].copy()
        if len(chosen):
            start = weights[chosen]
            pull = gram @ start - model[chosen, _G]
            sweeps = min(_MOST_PRODUCTS // len(chosen) ** 2, _MOST_SWEEPS)
            part = np.column_stack([start, pull, gram])
            weights[chosen] = descend_coordinates(part, l1, sweeps)
        return weights

    def _next_set(self, model: Array, l1: float) -> Indices:
        """Twice as many columns as coefficients: those, and the steepest others, ascending.

        Where there is no place for all coefficients, the columns that violate their conditions
        most.
        """
        weights, gradient = model[:, _W], model[:, _G]
        used = weights != 0
        count = int(np.count_nonzero(used))
        size = min(max(2 * count, _LEAST_COLUMNS), self.capacity)
        score = np.abs(gradient)
        if count < size:
            score[used] = np.inf
        else:
            score = _excess(weights, gradient, l1)
        # Ties are decided by the position, so all workers choose alike.
        return np.sort(np.argsort(-score, kind="stable")[:size])

    def _packed(self, chosen: Indices, gram: Array, count: int) -> Array:
        """The set (times `count`, its empty places -1) and its Gram matrix as parts of all rows."""
        packed = np.zeros((self.columns, self.row_width - _SET))
        places, numbers = np.split(packed.reshape(-1), [self.capacity])
        places[:] = -count
        places[: len(chosen)] = count * chosen
        numbers[: gram.size] = gram.ravel()
        return packed

    def _unpacked(self, model: Array) -> tuple[Indices, Array]:
        flat = model[:, _SET:].reshape(-1)
        places = np.rint(flat[: self.capacity]).astype(np.int64)
        chosen = places[places >= 0]
        size = len(chosen)
        gram = flat[self.capacity : self.capacity + size * size]
        return chosen, gram.reshape(size, size)


def _excess(weights: Array, gradient: Array, l1: float) -> Array:
    """By how much each coefficient misses its optimality condition, `(keys,)`."""
    moved = np.abs(gradient + l1 * np.sign(weights))
    return np.asarray(np.where(weights != 0, moved, np.maximum(np.abs(gradient) - l1, 0.0)))
