"""The compiled loop of coordinate descent on the rows of `gram_descent`."""

from __future__ import annotations

import numpy as np

from motet.apps.optimisers.gram_columns import COEFFICIENT, CORRELATION, GRAM
from motet.domain.arrays import Array
from motet.transport.native.compiled import njit


@njit(cache=True, nogil=True)
def descend_coordinates(model: Array, l1: float, sweeps: int) -> Array:
    """Return the coefficients after at most `sweeps` sweeps of cyclic descent, `(keys,)`.

    A coefficient that stays 0 costs one comparison: the product G w is updated, and only a changed
    coefficient reads a row of G (which is symmetric).
    """
    count = len(model)
    weights = model[:, COEFFICIENT].copy()
    product = np.zeros(count)
    for j in range(count):
        if weights[j] != 0.0:
            product += weights[j] * model[j, GRAM:]
    for _ in range(sweeps):
        largest_change = 0.0
        for j in range(count):
            curvature = model[j, GRAM + j]
            if curvature <= 0.0:
                continue
            pull = model[j, CORRELATION] - product[j] + curvature * weights[j]
            new = np.sign(pull) * max(abs(pull) - l1, 0.0) / curvature
            change = new - weights[j]
            if change != 0.0:
                weights[j] = new
                product += change * model[j, GRAM:]
                largest_change = max(largest_change, abs(change) * np.sqrt(curvature))
        if largest_change < 1e-15:
            break
    return weights
