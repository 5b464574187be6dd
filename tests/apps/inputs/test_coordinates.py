"""Trained coordinates: the way there and back, and the curvature of the data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from motet.apps.inputs.centred import trained_features
from motet.apps.inputs.coordinates import (
    feature_columns,
    features_of,
    gram_norm,
    mean_squares,
)
from motet.runtime.core.rows import Rows


def matrix(
    rows: int, columns: int, seed: int = 0
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 1.0, (rows, columns)) * np.logspace(0, 2, columns)
    X[np.abs(X) < 1.0] = 0.0
    return X


def test_dense_columns_are_centred_and_scaled_without_changing_the_original() -> None:
    X = matrix(50, 4)
    before = X.copy()
    trained = trained_features(X, centring=True, scaling=True)[0].matrix
    np.testing.assert_allclose(trained.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(trained.std(axis=0), 1.0)
    np.testing.assert_array_equal(X, before)


def test_sparse_columns_are_only_scaled_without_centring() -> None:
    X = csr_matrix(matrix(50, 4))
    centred, coordinates = trained_features(X, centring=False, scaling=True)
    trained = centred.matrix
    assert trained.nnz == X.nnz
    np.testing.assert_allclose(mean_squares(trained), 1.0)
    assert not coordinates.shift.any()


@given(outputs=st.integers(0, 3), is_sparse=st.booleans())
def test_weights_predict_the_same_in_both_coordinates(outputs: int, is_sparse: bool) -> None:
    X = csr_matrix(matrix(30, 5)) if is_sparse else matrix(30, 5)
    trained, coordinates = trained_features(X, centring=True, scaling=True)
    rng = np.random.default_rng(1)
    shape = (5, outputs) if outputs else (5,)
    weights, intercept = rng.normal(size=shape), rng.normal(size=shape[1:])
    original, original_intercept = coordinates.original(weights, intercept)
    np.testing.assert_allclose(X @ original + original_intercept, trained @ weights + intercept)


@pytest.mark.parametrize("columns", [1, 3, 40])
@pytest.mark.parametrize("with_intercept", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_gram_norm_is_the_largest_eigenvalue_or_slightly_above(
    columns: int, with_intercept: bool, is_sparse: bool
) -> None:
    X = matrix(60, columns)
    full = np.hstack([X, np.ones((60, 1))]) if with_intercept else X
    largest = np.linalg.eigvalsh(full.T @ full / 60)[-1]
    found = gram_norm(csr_matrix(X) if is_sparse else X, with_intercept)
    assert largest * (1 - 1e-9) <= found <= 1.02 * largest


@pytest.mark.parametrize("is_sparse", [False, True])
def test_features_survive_a_life_as_rows(is_sparse: bool) -> None:
    X = csr_matrix(matrix(20, 6)) if is_sparse else matrix(20, 6)
    rows = Rows(np.arange(20), feature_columns(X)).take(np.array([3, 1, 2]))
    back = features_of(rows, 6)
    assert isinstance(back, np.ndarray) != is_sparse
    np.testing.assert_array_equal(back.toarray() if is_sparse else back, matrix(20, 6)[[3, 1, 2]])
