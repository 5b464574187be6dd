"""Default settings end at scikit-learn's objective; what has not converged is said."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
    make_regression,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as LassoPeer
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.linear_model import LogisticRegression as LogisticPeer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from motet.apps.estimator import Estimator
from motet.apps.kmeans import KMeans
from motet.apps.lasso import Lasso
from motet.apps.linear_regression import LinearRegression
from motet.apps.linear_svm import LinearSVM
from motet.apps.logistic_regression import LogisticRegression
from motet.apps.mlr import MLR
from motet.apps.nmf import NMF
from motet.domain.errors import BadInput
from soak_cases import others_in_soak

Data = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def from_classification(seed: int, columns: int, classes: int) -> Callable[[], Data]:
    """Columns on scales from 1e-3 to 1e3."""

    def make() -> Data:
        X, y = make_classification(
            400, columns, n_informative=columns // 2, n_classes=classes, random_state=seed
        )
        return X * np.logspace(-3, 3, columns) + 5.0, y

    return make


def from_regression(seed: int, columns: int) -> Callable[[], Data]:
    def make() -> Data:
        X, y = make_regression(300, columns, noise=5.0, random_state=seed)
        return X * np.logspace(-2, 2, columns) + 1.0, y

    return make


def load(loader: Callable[..., Any]) -> Callable[[], Data]:
    return lambda: loader(return_X_y=True)


def digits_with_rare_columns() -> Data:
    """Raw pixels, separable, and columns that a few rows have, like the outer pixels of MNIST."""
    X, y = load_digits(return_X_y=True)
    is_set = np.random.default_rng(0).random((len(X), 300)) < 0.002
    return np.hstack([X * 16.0, is_set * 255.0]), y


def rare_classes() -> Data:
    """Of 194 instances two of the four classes have ten and four."""
    X, y = from_classification(5, 20, 4)()
    rows = np.concatenate([np.flatnonzero(y == k)[:n] for k, n in enumerate((90, 90, 10, 4))])
    return X[rows], y[rows]


def rare_class_in_rare_columns() -> Data:
    """A class of eight instances, separable by columns that only those and few others have."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(600, 12)), np.zeros(600, int)
    y[:8], y[8:250] = 2, 1
    X[8:250, 0] += 1.0
    X[:, 8:] = np.where(rng.random((600, 4)) < 0.01, 255.0, 0.0)
    X[:8, 8:] = 255.0
    return X, y


CLASSES: dict[str, Callable[[], Data]] = {
    "breast_cancer": load(load_breast_cancer),
    "wine": load(load_wine),
    "digits": load(load_digits),
    "rare columns": digits_with_rare_columns,
    "rare classes": rare_classes,
    "rare class in rare columns": rare_class_in_rare_columns,
    "iris": load(load_iris),
    "two classes": from_classification(1, 20, 2),
    "four classes": from_classification(2, 30, 4),
}
TARGETS: dict[str, Callable[[], Data]] = {
    "diabetes": load(load_diabetes),
    "regression": from_regression(3, 40),
    "more columns than rows": from_regression(4, 400),
}


@pytest.mark.parametrize(
    "name",
    # The peer's fit takes seconds for the digits, and half a second for rare columns.
    others_in_soak(CLASSES, CLASSES.keys() - {"digits", "rare columns"}),
)
def test_mlr_ends_within_a_percent_of_the_peer(name: str) -> None:
    X, y = CLASSES[name]()
    app = converged(MLR().fit(X, y))
    objective = softmax_objective(app, X, y, app.l2)
    scaler = StandardScaler()
    peer = make_pipeline(scaler, LogisticPeer(C=1e4 / len(y), max_iter=100_000, tol=1e-6)).fit(X, y)
    lowest = min(objective, peer_softmax_objective(peer, X, y))
    assert objective <= 1.01 * lowest


def test_mlr_on_almost_separable_classes_ends_at_its_small_objective() -> None:
    """3e-4 at the optimum, so that a gradient of 1e-5 of the first one is 1.5 % above it."""
    X, y = make_blobs(500, 50, centers=8, cluster_std=12, random_state=4)
    app = converged(MLR().fit(X, y))
    precise = MLR(tol=1e-10, epochs=1000).fit(X, y)
    assert app.loss_curve_[-1] <= 1.001 * precise.loss_curve_[-1] < 3e-4


def peer_softmax_objective(peer: Any, X: Any, y: Any) -> float:
    """The objective of MLR at the peer's solution; the peer's penalty is on scaled columns."""
    scale = peer[0].scale_
    model = peer[1]
    coef = model.coef_ / scale
    intercept = model.intercept_ - coef @ peer[0].mean_
    if len(coef) == 1:
        coef, intercept = np.vstack([-coef / 2, coef / 2]), np.append(-intercept, intercept) / 2
    return objective_of(coef, intercept, X, y, 1e-4)


def softmax_objective(app: MLR, X: Any, y: Any, l2: float) -> float:
    return objective_of(app.coef_, app.intercept_, X, y, l2)


def objective_of(coef: Any, intercept: Any, X: Any, y: Any, l2: float) -> float:
    logits = X @ coef.T + intercept
    logits -= logits.max(axis=1, keepdims=True)
    _, labels = np.unique(y, return_inverse=True)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels]
    return float(losses.mean() + l2 / 2 * (coef**2).sum())


@pytest.mark.parametrize("name", TARGETS)
def test_linear_regression_ends_at_least_squares(name: str) -> None:
    X, y = TARGETS[name]()
    app = converged(LinearRegression().fit(X, y))
    peer = LeastSquares().fit(X, y)
    spread = float(np.var(y)) / 2
    errors = [float(np.mean((model.predict(X) - y) ** 2)) / 2 for model in (app, peer)]
    assert errors[0] <= 1.01 * errors[1] + 1e-9 * spread


@pytest.mark.parametrize("name", TARGETS)
def test_lasso_ends_within_a_percent_of_the_peer(name: str) -> None:
    X, y = TARGETS[name]()
    app = converged(Lasso().fit(X, y))
    peer = LassoPeer(alpha=app.l1_, max_iter=1_000_000, tol=1e-9).fit(X, y)

    def objective(model: Any) -> float:
        errors = model.predict(X) - y
        return float(errors @ errors / (2 * len(y)) + app.l1_ * np.abs(model.coef_).sum())

    assert objective(app) <= 1.01 * objective(peer)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVM])
def test_both_solvers_converge_on_raw_columns(kind: Any, solver: str) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    exact = kind(solver="newton", epochs=100, tol=1e-12).fit(X, y).loss_curve_[-1]
    assert converged(kind(solver=solver).fit(X, y)).loss_curve_[-1] <= (1 + 1e-5) * exact


def converged(model: Any) -> Any:
    """It ended before its epochs did."""
    assert len(model.loss_curve_) < model.epochs
    return model


FITS: dict[str, Estimator] = {
    "mlr": MLR(epochs=2),
    "lasso": Lasso(epochs=1, solver="fista"),
    "linear_svm": LinearSVM(epochs=2),
    "kmeans": KMeans(2, epochs=1),
    "nmf": NMF(rank=2, epochs=2),
}


@pytest.mark.parametrize("name", FITS)
def test_too_few_epochs_are_warned_about(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    labels = (y > 0).astype(int)
    told = "has not converged after epochs=.*; raise epochs"
    with pytest.warns(ConvergenceWarning, match=told) as warned:
        FITS[name].fit(X, labels)
    assert [each.filename for each in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type(FITS[name])(**{**FITS[name].get_params(), "tol": 0}).fit(X, labels)


@pytest.mark.parametrize("density", [0.05, 0.9])
@pytest.mark.parametrize(
    "app",
    [
        MLR(),
        MLR(solver="saga", epochs=5, tol=0),
        LogisticRegression(),
        LogisticRegression(solver="lbfgs"),
        LinearSVM(solver="lbfgs"),
        LinearRegression(l2=1e-3, solver="lbfgs"),
        Lasso(solver="fista"),
        Lasso(solver="gram", standardize=True),
        KMeans(3),
    ],
    ids=repr,
)
def test_the_storage_of_features_does_not_change_the_model(app: Any, density: float) -> None:
    rng = np.random.default_rng(0)
    sparse = random_array((200, 30), density=density, rng=rng, format="csr")
    y = (sparse @ rng.normal(size=30) + 0.1 * rng.normal(size=200) > 0.0).astype(float)
    dense_model = type(app)(**app.get_params()).fit(sparse.toarray(), y)
    sparse_model = type(app)(**app.get_params()).fit(csr_matrix(sparse), y)
    for name, value in dense_model.get_state().items():
        np.testing.assert_allclose(sparse_model.get_state()[name], value, rtol=1e-6, atol=1e-9)


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(BadInput, match="tol=-1 must be a number at least 0"):
        MLR(tol=-1).fit(np.eye(4), [0, 1, 0, 1])
