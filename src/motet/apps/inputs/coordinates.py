"""The coordinates in which linear models train: columns centred and scaled.

First-order methods need about as many epochs as the root of the condition number, which is large
for raw columns (grams and kilometres, pixels that are never 0). Training in other coordinates
changes neither the objective nor the optimum: a penalty on an original weight w_j = u_j / scale_j
is a penalty on u_j / scale_j, and the intercept absorbs the shift.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from motet.domain.arrays import Array
from motet.runtime.blas_threads import one_blas_thread
from motet.runtime.core.rows import Column, Ragged, Rows

# A dense (rows, columns) float64 array or a SciPy CSR matrix; both have shape, @ and .T.
Features = Any

# Lanczos iteration needs a few more columns than eigenvalues.
_LANCZOS_WIDTH = 8


@dataclass(frozen=True, eq=False)
class Coordinates:
    """x' = (x - shift) / scale, column by column. `shift`, `scale`: (columns,) float64."""

    shift: Array
    scale: Array

    def original(self, weights: Array, intercept: Array) -> tuple[Array, Array]:
        """Weights `(columns,)` or `(columns, outputs)` and intercept for the original columns."""
        coefficients = weights / self.scale.reshape(-1, *[1] * (weights.ndim - 1))
        return coefficients, intercept - self.shift @ coefficients


def with_entries(features: Features, entries: Array) -> Features:
    """Return a CSR matrix with other entries at the same places, which both share."""
    from scipy.sparse import csr_matrix

    places = (entries, features.indices, features.indptr)
    return csr_matrix(places, shape=features.shape, copy=False)


def divide_columns(features: Features, divisors: Array) -> Features:
    """Return a copy of a CSR matrix with every column divided by its divisor, `(columns,)`."""
    return with_entries(features, features.data / divisors[features.indices])


def mean_squares(features: Features) -> Array:
    """Mean of the squared entries of every column, `(columns,)`."""
    row_count, column_count = features.shape
    if isinstance(features, np.ndarray):
        return np.asarray(np.einsum("ij,ij->j", features, features) / row_count)
    squares = features.data**2
    sums = np.bincount(features.indices, squares, minlength=column_count)
    return np.asarray(sums / row_count)


def feature_columns(features: Features) -> dict[str, Column]:
    """Return the features as columns of `Rows`: `x`, or for CSR ragged `columns` and `entries`."""
    if isinstance(features, np.ndarray):
        return {"x": features}
    offsets = features.indptr.astype(np.int64, copy=False)
    return {
        "columns": Ragged(offsets, features.indices.astype(np.int32, copy=False)),
        "entries": Ragged(offsets, features.data),
    }


def features_of(rows: Rows, column_count: int) -> Features:
    """Invert `feature_columns` without copying."""
    if "x" in rows.columns:
        return rows["x"]
    from scipy.sparse import csr_matrix

    columns, entries = rows.ragged("columns"), rows.ragged("entries")
    return csr_matrix(
        (entries.values, columns.values, entries.offsets), shape=(len(rows), column_count)
    )


def gram_norm(features: Features, with_intercept: bool = True) -> float:
    """Largest eigenvalue of X'X / n (to 1 %, from above), X optionally with a column of ones."""
    row_count, column_count = features.shape
    width = column_count + with_intercept
    if width <= _LANCZOS_WIDTH:
        dense = np.stack([_times_gram(features, unit) for unit in np.eye(width)])
        return float(np.linalg.eigvalsh(dense)[-1] / row_count)
    from scipy.sparse.linalg import LinearOperator, eigsh

    gram = LinearOperator(
        (width, width), matvec=partial(_times_gram, features), dtype=np.dtype(np.float64)
    )
    start = np.random.default_rng(0).normal(size=width)
    with one_blas_thread():  # The import has loaded the linear algebra of SciPy.
        largest = eigsh(gram, k=1, v0=start, tol=1e-3, return_eigenvectors=False)
    return float(1.01 * largest[0] / row_count)


def _times_gram(features: Features, vector: Array) -> Array:
    """X'X v, X with a column of ones if v has one entry more than X has columns."""
    column_count = features.shape[1]
    image = features @ vector[:column_count]
    if len(vector) == column_count:
        return np.asarray(features.T @ image)
    image = image + vector[-1]
    return np.append(features.T @ image, image.sum())
