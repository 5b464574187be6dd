"""Linear regression, logistic regression and the linear SVM against scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression as LinearPeer
from sklearn.linear_model import LogisticRegression as LogisticPeer
from sklearn.linear_model import Ridge as RidgePeer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC as SVMPeer

from motet.apps.lasso import Lasso
from motet.apps.linear_model import LinearModel, LinearSolver
from motet.apps.linear_regression import LinearRegression
from motet.apps.linear_svm import LinearSVM
from motet.apps.logistic_regression import LogisticRegression
from motet.datasets.builtin.toys import load_breast_cancer, load_diabetes, load_iris
from motet.datasets.kinds import LabelledMatrix
from motet.domain.errors import BadInput
from placement import train_placed
from real_data import a9a, communities
from soak_cases import others_in_soak


@pytest.fixture(scope="module")
def cancer() -> LabelledMatrix:
    """Raw columns, from 1e-3 to 1e3."""
    return load_breast_cancer()


@pytest.fixture(scope="module")
def scaled_cancer(cancer: LabelledMatrix) -> LabelledMatrix:
    X = StandardScaler().fit_transform(cancer.features)
    return LabelledMatrix(X, cancer.target, source="scaled cancer")


@pytest.fixture(scope="module")
def diabetes() -> LabelledMatrix:
    return load_diabetes()


def objective_of(app: LinearModel, peer: Any, dataset: LabelledMatrix) -> float:
    """`app`'s objective at the peer's solution."""
    predictions = dataset.features @ np.ravel(peer.coef_) + np.ravel(peer.intercept_)
    losses = app.losses(predictions, app.learn_target(dataset))
    return float(losses.mean() + app.l2 / 2 * (np.ravel(peer.coef_) ** 2).sum())


def svm_peer(rows: int, l2: float) -> SVMPeer:
    """A large intercept scaling takes its penalty on the intercept away."""
    return SVMPeer(
        C=1 / (rows * l2), dual=False, intercept_scaling=100.0, tol=1e-6, max_iter=100_000
    )


@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_linear_regression_is_least_squares_or_ridge(diabetes: LabelledMatrix, l2: float) -> None:
    X, y = diabetes.features, diabetes.target
    peer = (RidgePeer(alpha=len(y) * l2) if l2 else LinearPeer()).fit(X, y)
    model = LinearRegression(l2=l2).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-6)
    assert model.intercept_ == pytest.approx(peer.intercept_)
    assert model.score(X, y) == pytest.approx(peer.score(X, y))


def test_logistic_regression_reaches_the_objective_on_raw_columns(cancer: LabelledMatrix) -> None:
    app = LogisticRegression(l2=1e-3)
    peer = LogisticPeer(C=1 / (cancer.row_count * 1e-3), solver="newton-cholesky", max_iter=1000)
    peer.fit(cancer.features, cancer.target)
    model = app.fit(cancer)
    assert model.loss_curve_[-1] <= objective_of(app, peer, cancer) * (1 + 1e-6)
    np.testing.assert_allclose(
        model.predict_proba(cancer), peer.predict_proba(cancer.features), atol=1e-4
    )


def test_linear_svm_reaches_the_objective_of_liblinear(scaled_cancer: LabelledMatrix) -> None:
    app = LinearSVM(l2=1e-3)
    peer = svm_peer(scaled_cancer.row_count, 1e-3)
    peer.fit(scaled_cancer.features, scaled_cancer.target)
    model = app.fit(scaled_cancer)
    assert model.loss_curve_[-1] <= objective_of(app, peer, scaled_cancer) * (1 + 1e-4)
    np.testing.assert_array_equal(
        model.predict(scaled_cancer), peer.predict(scaled_cancer.features)
    )


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVM])
def test_both_solvers_and_both_storages_end_at_the_same_optimum(
    scaled_cancer: LabelledMatrix, kind: Any
) -> None:
    X, y = scaled_cancer.features, scaled_cancer.target
    newton = kind(l2=1e-2).fit(X, y).loss_curve_[-1]
    lbfgs = kind(l2=1e-2, solver="lbfgs").fit(X, y)
    sparse = kind(l2=1e-2).fit(csr_matrix(X), y).loss_curve_[-1]
    assert lbfgs.loss_curve_[-1] == pytest.approx(newton, rel=1e-6)
    assert sparse == pytest.approx(newton, rel=1e-9)


def test_newton_converges_in_a_dozen_epochs_without_ever_going_up(cancer: LabelledMatrix) -> None:
    for l2 in (1e-6, 1e-3, 1.0):
        losses = LogisticRegression(l2=l2, tol=1e-9).fit(cancer).loss_curve_
        assert len(losses) <= 20
        assert (np.diff(losses) <= 0).all()


def test_columns_that_never_vary_and_doubled_columns_do_no_harm(diabetes: LabelledMatrix) -> None:
    X = np.hstack([diabetes.features, diabetes.features[:, :1], np.ones((442, 1))])
    model = LinearRegression().fit(X, diabetes.target)
    plain = LinearRegression().fit(diabetes)
    np.testing.assert_allclose(model.predict(X), plain.predict(diabetes), rtol=1e-5)


def test_classes_keep_their_names(cancer: LabelledMatrix) -> None:
    words = np.where(cancer.target > 0, "benign", "malignant")
    model = LogisticRegression().fit(cancer.features, words)
    assert model.classes_.tolist() == ["benign", "malignant"]
    assert model.coef_.shape == (1, 30)
    assert model.score(cancer.features, words) > 0.95
    probabilities = model.predict_proba(cancer.features)
    np.testing.assert_array_equal(
        probabilities[:, 1] > 0.5, model.predict(cancer.features) == "malignant"
    )


def test_held_out_metrics(cancer: LabelledMatrix, diabetes: LabelledMatrix) -> None:
    classifier = LogisticRegression().fit(cancer.rows(slice(0, 400)))
    held_out = cancer.rows(slice(400, None))
    metrics = classifier.test_metrics(held_out)
    assert sorted(metrics) == ["test_accuracy", "test_log_loss"]
    expected = classifier.score(held_out, held_out.target)
    assert metrics["test_accuracy"] == pytest.approx(expected)
    regression = LinearRegression().fit(diabetes).test_metrics(diabetes)
    assert regression["test_rmse"] == pytest.approx(53.476, abs=1e-3)


@pytest.mark.parametrize("app", [LinearRegression(), Lasso(), Lasso(standardize=True)])
def test_regressions_report_the_root_mean_squared_error_and_r2(
    app: Any, diabetes: LabelledMatrix
) -> None:
    train, held_out = diabetes.rows(slice(0, 300)), diabetes.rows(slice(300, None))
    placed = train_placed(app, train, epochs=3, workers=2, servers=2)
    model, test = placed.app, placed.app.test_metrics(held_out)
    for rows, metrics, prefix in (
        (train, placed.evaluation.metrics, ""),
        (held_out, test, "test_"),
    ):
        errors = model.predict(rows.features) - rows.target
        assert metrics[f"{prefix}rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
        assert metrics[f"{prefix}r2"] == pytest.approx(model.score(rows.features, rows.target))


def test_a_constant_target_of_test_data_has_no_r2(diabetes: LabelledMatrix) -> None:
    model = LinearRegression().fit(diabetes)
    constant = replace(diabetes, target=np.full(diabetes.row_count, 100.0))
    assert list(model.test_metrics(constant)) == ["test_rmse"]


def test_they_work_inside_scikit_learn(cancer: LabelledMatrix) -> None:
    pipeline = make_pipeline(StandardScaler(), LinearSVM(l2=1e-2))
    scores = cross_val_score(pipeline, cancer.features, cancer.target, cv=3)
    assert scores.min() > 0.93


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression, LinearSVM])
def test_save_and_load_keep_predictions(kind: Any, cancer: LabelledMatrix, tmp_path: Path) -> None:
    model = kind().fit(cancer)
    model.save(tmp_path / "model.npz")
    loaded = kind.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict(cancer.features), model.predict(cancer.features))


def test_more_than_two_classes_are_sent_to_mlr() -> None:
    with pytest.raises(BadInput, match="3 classes; linear_svm separates two"):
        LinearSVM().fit(load_iris())


@pytest.mark.parametrize(
    ("kind", "objective", "solver"),
    others_in_soak(
        [
            (LogisticRegression, 0.324423, "auto"),
            (LogisticRegression, 0.324423, "lbfgs"),
            (LinearSVM, 0.422242, "auto"),
            (LinearSVM, 0.422242, "lbfgs"),
        ],
        [(LinearSVM, 0.422242, "auto")],
    ),
)
def test_gate_a9a(shared_data: Path, kind: Any, objective: float, solver: LinearSolver) -> None:
    """scikit-learn's objective with l2 = 1e-4 (lbfgs; liblinear); wanted: within 1 %."""
    app = kind(l2=1e-4, solver=solver)
    epochs = 100 if solver == "lbfgs" else 10
    placed = train_placed(app, a9a(shared_data), epochs, workers=3, servers=2)
    assert placed.loss <= 1.01 * objective


def test_gate_communities(shared_data: Path) -> None:
    """Wanted: within 1 % of scikit-learn's objective, with 3 workers and 2 servers."""
    data = communities(shared_data)
    peer = LinearPeer().fit(data.features, data.target)
    solvers: tuple[LinearSolver, ...] = ("auto", "lbfgs")
    for solver in solvers:
        app = LinearRegression(solver=solver)
        placed = train_placed(app, data, app.default_epochs, workers=3, servers=2)
        assert placed.loss <= 1.01 * objective_of(app, peer, data)
