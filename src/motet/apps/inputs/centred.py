"""Centred features for linear models with an intercept.

An intercept without penalty absorbs the means of columns and target, so the other coefficients are
those of the centred data. Dense features are centred in a copy. Sparse ones stay
sparse: with M = X - 1 m', M w = X w - m . w and M' r = X' r - sum(r) m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from motet.apps.inputs.coordinates import (
    Coordinates,
    Features,
    divide_columns,
    mean_squares,
    with_entries,
)
from motet.domain.arrays import Array

RELATIVE_GRADIENT = "relative gradient norm"
"""The residual of models with an intercept: the largest entry of the gradient in trained
coordinates, by that of a model with an intercept alone (`steepest_slope`)."""

_STRIPE_BYTES = 4 << 20


@dataclass(frozen=True, eq=False)
class Centred:
    """`matrix` minus `centre: (columns,)` in every row, never formed; has shape, @ and .T."""

    matrix: Features
    centre: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    def __matmul__(self, weights: Array) -> Array:
        return np.asarray(self.matrix @ weights - self.centre @ weights)

    @property
    def T(self) -> Transposed:  # noqa: N802 - the name in NumPy and SciPy
        """The transpose, for products with `(rows,)` or `(rows, outputs)`."""
        return Transposed(self)

    def square_sums(self, weights: Array) -> Array:
        """Weighted sums of squared entries, `(columns, outputs)`; `weights: (rows, outputs)`."""
        matrix = self.matrix
        is_dense = isinstance(matrix, np.ndarray)
        squares = matrix**2 if is_dense else with_entries(matrix, matrix.data**2)
        sums: Array = np.asarray(squares.T @ weights)
        if self.centre.any():
            centre = self.centre[:, None]
            sums += centre * (centre * weights.sum(axis=0) - 2 * (matrix.T @ weights))
        return np.asarray(np.maximum(sums, 0.0))

    def gram(self, weights: Array | None = None, out: Array | None = None) -> Array:
        """Products of all pairs of columns, `(columns, columns)`, symmetric.

        `weights: (rows,)`: of the rows' parts of the sums (None: 1). `out`: where the result is
        stored; nothing of its size is allocated beside it.
        """
        matrix = self.matrix
        others = matrix if weights is None else _rows_times(matrix, weights)
        if out is None:
            out = np.empty((self.shape[1], self.shape[1]))
        if isinstance(matrix, np.ndarray):
            np.matmul(matrix.T, others, out=out)
        else:
            products = (matrix.T @ others).tocsr()
            for some in _stripes(out):
                out[some] = products[some].toarray()
        if self.centre.any():
            sums = _column_sums(matrix) if weights is None else np.asarray(matrix.T @ weights)
            total = self.shape[0] if weights is None else weights.sum()
            self._centre_products(out, sums - total / 2 * self.centre)
        return out

    def _centre_products(self, out: Array, halves: Array) -> None:
        for some in _stripes(out):
            excess = np.outer(halves[some], self.centre)
            out[some] -= excess + np.outer(self.centre[some], halves)


@dataclass(frozen=True, eq=False)
class Transposed:
    """The transpose of centred features."""

    original: Centred

    def __matmul__(self, residuals: Array) -> Array:
        centred = self.original
        shares = np.multiply.outer(centred.centre, residuals.sum(axis=0))
        return np.asarray(centred.matrix.T @ residuals - shares)


def trained_features(
    features: Features,
    centring: bool,
    scaling: bool,
    scale_of: Callable[[Array], Array] = np.sqrt,
) -> tuple[Centred, Coordinates]:
    """Return the features in trained coordinates, and the coordinates.

    `centring`: subtract the columns' means. `scaling`: divide by `scale_of(mean squares)`, by
    default the roots, which after centring are standard deviations. A constant column becomes 0,
    and so does its original weight.
    """
    columns = features.shape[1]
    nowhere = np.zeros(columns)
    if not (centring or scaling):
        return Centred(features, nowhere), Coordinates(nowhere, np.ones(columns))
    shift = _column_sums(features) / features.shape[0] if centring else nowhere
    scale_of = scale_of if scaling else np.ones_like
    if isinstance(features, np.ndarray):
        centred = features - shift
        scale = _divisors(mean_squares(centred), shift, len(features), scale_of)
        centred /= scale
        return Centred(centred, nowhere), Coordinates(shift, scale)
    squares = _mean_squares_about(shift, features)
    scale = _divisors(squares, shift, features.shape[0], scale_of)
    return Centred(divide_columns(features, scale), shift / scale), Coordinates(shift, scale)


def _divisors(
    squares: Array, shift: Array, row_count: int, scale_of: Callable[[Array], Array]
) -> Array:
    """Return the scales; infinity for a column that is 0 up to its mean's rounding."""
    rounding = row_count * np.finfo(np.float64).eps * shift
    return np.where(squares > rounding**2, scale_of(squares), np.inf)


def steepest_slope(features: Centred, residuals: Array) -> float:
    """Return the largest entry of M' r / n: the gradient's at weights 0, from its residuals.

    `residuals: (rows,)` or `(rows, outputs)`, of a model with an intercept alone.
    """
    return float(np.abs(features.T @ residuals).max()) / features.shape[0]


def _stripes(square: Array) -> list[slice]:
    """Slices of rows, each of about `_STRIPE_BYTES`."""
    height = max(_STRIPE_BYTES // square[:1].nbytes, 1)
    return [slice(low, low + height) for low in range(0, len(square), height)]


def _rows_times(matrix: Features, weights: Array) -> Features:
    if isinstance(matrix, np.ndarray):
        return weights[:, None] * matrix
    return matrix.multiply(weights[:, None]).tocsr()


def _column_sums(features: Features) -> Array:
    return np.asarray(features.sum(axis=0)).ravel()


def _mean_squares_about(centre: Array, features: Features) -> Array:
    """Mean squared distance of a CSR matrix's columns from `centre`; a sum of squares only."""
    row_count, columns = features.shape
    distances = (features.data - centre[features.indices]) ** 2
    stored = np.bincount(features.indices, minlength=columns)
    sums = np.bincount(features.indices, distances, minlength=columns)
    return np.asarray((sums + (row_count - stored) * centre**2) / row_count)
