"""Any numbers of workers and servers give the same final loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import random as random_sparse

from example_count import examples
from motet.apps.estimator import Estimator
from motet.apps.kmeans import KMeans
from motet.apps.lasso import Lasso
from motet.apps.linear_regression import LinearRegression
from motet.apps.linear_svm import LinearSVM
from motet.apps.logistic_regression import LogisticRegression
from motet.apps.mlr import MLR
from motet.datasets.builtin.toys import load_breast_cancer, load_diabetes, load_digits
from motet.datasets.kinds import LabelledMatrix
from placement import assert_placement_independent, train_placed
from soak_cases import others_in_soak


def wide_sparse(rows: int = 300, columns: int = 5_000) -> LabelledMatrix:
    """So wide that a mini-batch touches few columns."""
    rng = np.random.default_rng(0)
    features = random_sparse(rows, columns, density=0.004, format="csr", rng=rng)
    return LabelledMatrix(features, rng.integers(0, 3, rows).astype(float), source="wide")


def wide_regression() -> LabelledMatrix:
    """More columns than a working set holds."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(50, 400))
    target = features[:, :40] @ rng.normal(size=40) + rng.normal(size=50)
    return LabelledMatrix(features, target, source="wide")


CASES = {
    "mlr, lbfgs, dense": (MLR(solver="lbfgs"), load_breast_cancer(), 100),
    "mlr, lbfgs, sparse": (MLR(solver="lbfgs"), wide_sparse(columns=500), 30),
    "mlr, saga, dense": (MLR(solver="saga", l2=1e-3), load_digits(), 3),
    "mlr, saga, sparse": (MLR(solver="saga", l2=1e-3, batch_size=20), wide_sparse(), 5),
    "lasso, gram": (Lasso(solver="gram", standardize=True), load_diabetes(), 4),
    "lasso, active": (Lasso(solver="active"), wide_regression(), 6),
    "lasso, fista": (Lasso(solver="fista", standardize=True), load_diabetes(), 30),
    "kmeans": (KMeans(10), load_digits(), 8),
    "linear_regression": (LinearRegression(), load_diabetes(), 3),
    "logistic_regression": (LogisticRegression(), load_breast_cancer(), 6),
    "logistic_regression, lbfgs": (
        LogisticRegression(solver="lbfgs"),
        load_breast_cancer(),
        40,
    ),
    "linear_svm": (LinearSVM(), load_breast_cancer(), 6),
}


@pytest.mark.parametrize("case", CASES)
def test_final_loss_does_not_depend_on_workers_and_servers(case: str) -> None:
    app, dataset, epochs = CASES[case]
    assert_placement_independent(app, dataset, epochs)


@pytest.mark.parametrize(
    "case", others_in_soak(CASES, ["mlr, lbfgs, dense", "lasso, fista", "kmeans"])
)
def test_final_loss_does_not_depend_on_the_size_of_sections(case: str) -> None:
    app, dataset, epochs = CASES[case]
    whole = train_placed(app, dataset, epochs, workers=2, servers=1)
    divided = train_placed(app, dataset, epochs, workers=2, servers=1, section_bytes=1)
    np.testing.assert_allclose(divided.loss, whole.loss, rtol=1e-9)


@pytest.mark.parametrize(
    "case", others_in_soak(CASES, CASES.keys() - {"mlr, lbfgs, dense", "mlr, saga, dense"})
)
def test_fit_in_this_process_is_one_more_placement(case: str) -> None:
    app, dataset, epochs = CASES[case]
    placed = train_placed(app, dataset, epochs, workers=3, servers=2)
    fitted: Estimator = type(app)(**app.get_params() | {"epochs": epochs, "tol": 0.0})
    fitted.fit(dataset)
    np.testing.assert_allclose(fitted.loss_curve_[-1], placed.loss, rtol=1e-6)


@pytest.mark.soak
@settings(max_examples=examples(15))
@given(workers=st.integers(1, 12), servers=st.integers(1, 12), seed=st.integers(0, 5))
def test_any_placement_of_a_sparse_classifier_gives_the_same_weights(
    workers: int, servers: int, seed: int
) -> None:
    for app in (MLR(solver="saga", l2=1e-2, batch_size=30), MLR(solver="lbfgs", l2=1e-2)):
        assert_same_weights(app, workers, servers, seed)


def assert_same_weights(app: MLR, workers: int, servers: int, seed: int) -> None:
    dataset = wide_sparse(rows=120, columns=60)
    alone = train_placed(app, dataset, 8, 1, 1, seed)
    spread = train_placed(app, dataset, 8, workers, servers, seed)
    np.testing.assert_allclose(spread.app.coef_, alone.app.coef_, rtol=1e-6, atol=1e-12)
