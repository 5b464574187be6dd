"""Compiled inner loops of NMF.

Ratings are sorted by user; user u owns entries `offsets[u]:offsets[u + 1]` of `items, ratings`.
`factors: (users, rank)` and `item_factors: (items, rank)` are float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from motet.domain.arrays import Floats, Indices
from motet.transport.native.compiled import njit

_FOLD_IN_SWEEPS = 100


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def descend_ratings(
    offsets: Indices,
    items: NDArray[np.int32],
    ratings: Floats,
    factors: Floats,
    item_factors: Floats,
    step_sizes: Floats,
    delta: Floats,
    l2: float,
) -> None:
    """Make one pass over the ratings; changes `factors`, adds to `delta: (items, rank + 1)`.

    A row of `delta` is the gradient of an item and, last, its curvature. `step_sizes: (items,)`.
    """
    rank = factors.shape[1]
    own = np.empty(rank)
    for user in range(len(offsets) - 1):
        for k in range(rank):
            own[k] = factors[user, k]
        for entry in range(offsets[user], offsets[user + 1]):
            item = items[entry]
            step_size = step_sizes[item]
            error, norm = -ratings[entry], l2
            for k in range(rank):
                error += own[k] * item_factors[item, k]
                norm += own[k] * own[k]
            delta[item, rank] += norm
            for k in range(rank):
                user_value, item_value = own[k], item_factors[item, k]
                delta[item, k] += error * user_value + l2 * item_value
                own[k] = max(user_value - step_size * (error * item_value + l2 * user_value), 0.0)
        for k in range(rank):
            factors[user, k] = own[k]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def squared_sums(
    offsets: Indices,
    items: NDArray[np.int32],
    ratings: Floats,
    factors: Floats,
    item_factors: Floats,
) -> tuple[float, float]:
    """Sums over the ratings: of the squared errors, and of the squares of both factors."""
    errors, squares = 0.0, 0.0
    for user in range(len(offsets) - 1):
        for entry in range(offsets[user], offsets[user + 1]):
            error = -ratings[entry]
            for k in range(factors.shape[1]):
                user_value, item_value = factors[user, k], item_factors[items[entry], k]
                error += user_value * item_value
                squares += user_value * user_value + item_value * item_value
            errors += error * error
    return errors, squares


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def fold_in_users(
    offsets: Indices, items: Indices, ratings: Floats, item_factors: Floats, l2: float
) -> Floats:
    """Fit each user's factors >= 0 by coordinate descent on the normal equations."""
    rank = item_factors.shape[1]
    factors = np.zeros((len(offsets) - 1, rank))
    gram, target = np.empty((rank, rank)), np.empty(rank)
    for user in range(len(factors)):
        gram[:], target[:] = 0.0, 0.0
        for entry in range(offsets[user], offsets[user + 1]):
            if items[entry] >= 0:
                _add_equation(item_factors[items[entry]], ratings[entry], l2, gram, target)
        for _ in range(_FOLD_IN_SWEEPS):
            for k in range(rank):
                rest = target[k] + gram[k, k] * factors[user, k]
                for other in range(rank):
                    rest -= gram[k, other] * factors[user, other]
                factors[user, k] = max(rest, 0.0) / max(gram[k, k], 1e-300)
    return factors


@njit(cache=True, nogil=True, inline="always")
def _add_equation(values: Floats, rating: float, l2: float, gram: Floats, target: Floats) -> None:
    """Add one rating of an item with these factors to a user's normal equations."""
    for k in range(len(values)):
        target[k] += rating * values[k]
        gram[k, k] += l2
        for other in range(len(values)):
            gram[k, other] += values[k] * values[other]
