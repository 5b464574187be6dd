"""Centred features: products as with a centred copy, which sparse ones never have."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from motet.apps.inputs.centred import Centred, trained_features
from motet.apps.inputs.coordinates import gram_norm

X = np.random.default_rng(0).poisson(0.8, size=(40, 5)) * np.array([1.0, 2.0, 3.0, 10.0, 100.0])
COPY = X - X.mean(axis=0)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_products_are_those_of_a_centred_copy(is_sparse: bool) -> None:
    matrix = csr_matrix(X) if is_sparse else X
    centred = Centred(matrix, X.mean(axis=0))
    weights, residuals = np.arange(5.0), np.arange(40.0)
    np.testing.assert_allclose(centred @ weights, COPY @ weights)
    np.testing.assert_allclose(centred.T @ residuals, COPY.T @ residuals)
    np.testing.assert_allclose(centred.gram(), COPY.T @ COPY, atol=1e-9)
    several = np.random.default_rng(1).random((40, 3))
    np.testing.assert_allclose(centred.T @ several, COPY.T @ several, atol=1e-9)
    np.testing.assert_allclose(centred.square_sums(several), (COPY**2).T @ several)
    assert gram_norm(centred, with_intercept=False) == pytest.approx(
        np.linalg.eigvalsh(COPY.T @ COPY)[-1] / 40
    )


def test_parts_of_a_gram_matrix_add_up() -> None:
    parts = [Centred(csr_matrix(part), X.mean(axis=0)) for part in (X[:13], X[13:])]
    for part, copy in zip(parts, (COPY[:13], COPY[13:]), strict=True):
        np.testing.assert_allclose(part.gram(), copy.T @ copy, atol=1e-9)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("centring", [False, True])
@pytest.mark.parametrize("scaling", [False, True])
def test_trained_weights_predict_as_the_original_ones(
    is_sparse: bool, centring: bool, scaling: bool
) -> None:
    matrix = csr_matrix(X) if is_sparse else X
    trained, coordinates = trained_features(matrix, centring, scaling)
    weights = np.linspace(-1, 1, 5)
    original, intercept = coordinates.original(weights, np.zeros(()))
    np.testing.assert_allclose(X @ original + intercept, trained @ weights, atol=1e-9)
    assert (trained @ weights).mean() == pytest.approx(0.0, abs=1e-9) or not centring


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_column_that_never_varies_becomes_zero(is_sparse: bool) -> None:
    constant = np.column_stack([X, np.full(40, 0.1)])
    matrix = csr_matrix(constant) if is_sparse else constant
    trained, coordinates = trained_features(matrix, centring=True, scaling=True)
    assert not (trained @ np.eye(6)[5]).any()
    assert coordinates.original(np.ones(6), np.zeros(()))[0][5] == 0.0


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_gram_matrix_is_stored_where_it_is_wanted_and_nowhere_else(
    is_sparse: bool, is_weighted: bool
) -> None:
    """With room for it, 18 MB, that is wider than the matrix."""
    numbers = np.random.default_rng(0)
    features = numbers.standard_normal((20, 1500))
    features[numbers.random(features.shape) > 0.05] = 0.0
    centre = features.mean(axis=0)
    weights = numbers.random(20) if is_weighted else None
    room = np.zeros((1500, 1502))
    parts = Centred(csr_matrix(features) if is_sparse else features, centre)
    tracemalloc.start()
    parts.gram(weights, out=room[:, 2:])
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    centred = features - centre
    expected = centred.T @ (centred if weights is None else weights[:, None] * centred)
    np.testing.assert_allclose(room[:, 2:], expected, atol=1e-9)
    assert not room[:, :2].any()
    assert peak_bytes < 16e6
