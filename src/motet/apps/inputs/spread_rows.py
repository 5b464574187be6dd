"""The start of K-means: rows far from each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from motet.apps.inputs.distances import as_dense, squared_distances
from motet.domain.arrays import Array


def spread_rows(features: Any, count: int, rng: np.random.Generator) -> Array:
    """Draw rows by greedy k-means++ (Arthur and Vassilvitskii 2007, section 5).

    Every step draws 2 + log(count) rows by squared distance to the rows so far, as scikit-learn
    does, and takes the one that leaves the least sum of them.
    """
    row_count = features.shape[0]
    chosen = [int(rng.integers(row_count))]
    nearest = _shrunk(np.full(row_count, np.inf), features, chosen)[0]
    while len(chosen) < count:
        nearest[chosen] = 0.0
        total = nearest.sum()
        weights = nearest / total if total > 0 else _not_yet(chosen, row_count)
        candidates = rng.choice(row_count, size=2 + int(math.log(count)), p=weights)
        left = _shrunk(nearest, features, candidates)
        best = int(left.sum(axis=1).argmin())
        chosen.append(int(candidates[best]))
        nearest = left[best]
    return np.array(chosen)


def _shrunk(nearest: Array, features: Any, candidates: Any) -> Array:
    """The squared distances once each candidate were chosen, `(candidates, rows)`."""
    return np.minimum(nearest, squared_distances(features, as_dense(features[candidates])).T)


def _not_yet(chosen: list[int], row_count: int) -> Array:
    weights = np.ones(row_count)
    weights[chosen] = 0.0
    return np.asarray(weights / weights.sum())
