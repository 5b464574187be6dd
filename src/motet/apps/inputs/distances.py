"""Squared distances of rows to centres, exact also where rows and centres are far from 0.

|x|^2 - 2 x c + |c|^2 is a product of matrices, but its terms cancel where a distance is much
smaller than the norms: columns of time stamps, clusters far apart. Those distances are computed
again from differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from motet.domain.arrays import Array

# The rounding of the sum is about 1e-15 of its terms, so other distances are exact to 1e-7.
_CANCELLED_SHARE = 1e-8
_NUMBERS_AT_ONCE = 1 << 20


def squared_distances(features: Any, centres: Array) -> Array:
    """Return the distances of all rows to all centres, `(rows, centres)`, at least 0.

    `features`: dense or CSR.
    """
    norms = _row_norms(features)[:, None] + (centres**2).sum(axis=1)
    squares = np.asarray(norms - 2 * (features @ centres.T))
    _recompute_cancelled(squares, norms, features, centres)
    return squares


def nearest_centres(features: Any, centres: Array) -> tuple[Array, Array]:
    """Return the nearest centre of every row and the squared distance to it."""
    squares = squared_distances(features, centres)
    nearest = squares.argmin(axis=1)
    return nearest, squares[np.arange(len(nearest)), nearest]


def as_dense(matrix: Any) -> Array:
    """Return a dense copy."""
    return np.array(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _recompute_cancelled(squares: Array, norms: Array, features: Any, centres: Array) -> None:
    """Replace the distances that rounding may have spoilt, in place."""
    rows, places = np.nonzero(squares <= _CANCELLED_SHARE * norms)
    step = max(1, _NUMBERS_AT_ONCE // centres.shape[1])
    for start in range(0, len(rows), step):
        some, near = rows[start : start + step], places[start : start + step]
        differences = as_dense(features[some]) - centres[near]
        squares[some, near] = np.einsum("ij,ij->i", differences, differences)


def _row_norms(features: Any) -> Array:
    if isinstance(features, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", features, features))
    return np.asarray(features.multiply(features).sum(axis=1)).ravel()
