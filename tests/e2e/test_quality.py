"""What single-machine libraries reach on real data, reached on 3 workers and 2 servers.

`make test` has such gates of MLR and lasso in `apps/`, without processes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motet.apps import load_application
from motet.datasets import open_dataset
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from real_data import a9a, communities, mnist

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def train(
    cluster: LocalCluster, name: str, dataset: Any, epochs: int, seed: int = 1, **parameters: Any
) -> TrainResult:
    app = load_application(name)(**parameters)
    app.set_params(epochs=epochs, random_state=seed)
    rows = app.prepare(dataset, seed)
    options = TrainOptions(machines=3, workers=3, servers=2, epochs=epochs, seed=seed)
    return Job(app, rows, options, cluster).run()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("corpus", "topics", "tomotopy"),
    [
        ("reuters/reuters.ldac", 20, -8.030),
        pytest.param("reuters/reuters.ldac", 50, -7.982, marks=pytest.mark.soak),
        pytest.param("kos/docword.kos.txt.gz", 20, -8.135, marks=pytest.mark.soak),
        pytest.param("kos/docword.kos.txt.gz", 50, -8.210, marks=pytest.mark.soak),
    ],
)
def test_lda_is_as_likely_as_tomotopys_after_100_sweeps(
    local_cluster: LocalCluster, shared_data: Path, corpus: str, topics: int, tomotopy: float
) -> None:
    dataset = open_dataset(shared_data / corpus, kind="corpus")
    result = train(local_cluster, "lda", dataset, 100, topics=topics, alpha=0.1, beta=0.01)
    assert result.epochs[-1].metrics["log_likelihood_per_token"] >= tomotopy - 0.04


@pytest.mark.soak
def test_nmf_predicts_movielens_ratings(local_cluster: LocalCluster, shared_data: Path) -> None:
    folder = shared_data / "ml-100k"
    everything = open_dataset(folder / "u.data.gz", exclude=folder / "u1.test.gz")
    result = train(local_cluster, "nmf", everything, 60, rank=16)
    test = open_dataset(folder / "u1.test.gz").reindexed_like(everything)
    app: Any = result.app
    assert app.test_metrics(test)["test_rmse"] <= 0.938


@pytest.mark.soak
def test_mlr_on_mnist_is_within_one_percent_of_lbfgs(
    local_cluster: LocalCluster, shared_data: Path
) -> None:
    result = train(local_cluster, "mlr", mnist(shared_data), 40, l2=1e-3)
    app: Any = result.app
    assert result.losses[-1] <= 0.287579 * 1.01
    accuracy = app.test_metrics(mnist(shared_data, "t10k"))["test_accuracy"]
    assert accuracy >= 0.9116 - 0.005


@pytest.mark.soak
def test_mlr_on_a9a_is_within_one_percent_of_lbfgs(
    local_cluster: LocalCluster, shared_data: Path
) -> None:
    app: Any = train(local_cluster, "mlr", a9a(shared_data), 20, l2=1e-4).app
    metrics = app.test_metrics(a9a(shared_data, "a9a.t"))
    assert metrics["test_log_loss"] <= 0.32384 * 1.01
    assert metrics["test_accuracy"] >= 0.8498 - 0.005


@pytest.mark.parametrize(
    ("solver", "l1"),
    [
        pytest.param("gram", 0.073842, marks=pytest.mark.soak),
        pytest.param("fista", 0.0073842, marks=pytest.mark.soak),
        pytest.param("gram", 0.0073842, marks=pytest.mark.soak),
        pytest.param("fista", 0.073842, marks=pytest.mark.soak),
    ],
)
def test_lasso_reaches_scikit_learns_objective(
    local_cluster: LocalCluster, shared_data: Path, solver: str, l1: float
) -> None:
    from sklearn.linear_model import Lasso

    dataset = communities(shared_data)
    X, y = dataset.features, dataset.require_target()
    peer = Lasso(alpha=l1, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y).coef_
    best = np.sum((y - X @ peer) ** 2) / (2 * len(y)) + l1 * np.abs(peer).sum()
    result = train(local_cluster, "lasso", dataset, 300, l1=l1, solver=solver)
    assert abs(result.losses[-1] - best) <= 1e-6 * best
    assert result.epochs[-1].metrics["nonzeros"] == np.count_nonzero(peer)
