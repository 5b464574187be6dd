"""K-means: scikit-learn's inertia, seeding, empty clusters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans as Peer

from motet.apps.kmeans import KMeans, spread_rows
from motet.datasets.builtin.toys import load_digits
from motet.datasets.kinds import LabelledMatrix
from motet.domain.errors import BadInput
from placement import train_placed
from real_data import mnist


@pytest.fixture(scope="module")
def digits() -> LabelledMatrix:
    return load_digits()


def test_inertia_and_centres_are_those_of_scikit_learn(digits: LabelledMatrix) -> None:
    X = np.asarray(digits.features)
    peer = Peer(10, init=X[:10], n_init=1, max_iter=20, tol=0.0).fit(X)
    model = KMeans(10, init="first", epochs=20, tol=0.0).fit(X)
    assert model.inertia_ == pytest.approx(peer.inertia_, rel=1e-9)
    np.testing.assert_allclose(model.cluster_centers_, peer.cluster_centers_, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, peer.labels_)


def test_sparse_data_give_the_same_clusters(digits: LabelledMatrix) -> None:
    dense = KMeans(10).fit(digits.features)
    sparse = KMeans(10).fit(csr_matrix(digits.features))
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)


def test_inertia_never_rises(digits: LabelledMatrix) -> None:
    losses = KMeans(20, epochs=15, tol=0.0).fit(digits).loss_curve_
    assert (np.diff(losses) <= 1e-9 * losses[0]).all()


def test_spread_start_is_seeded_and_finds_clusters_that_the_first_rows_miss() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 50, axis=0) + rng.normal(size=(150, 2))
    first = KMeans(3, init="first", epochs=1).fit(X).inertia_
    spread, again, other = (
        KMeans(3, epochs=1, random_state=seed).fit(X).inertia_ for seed in (0, 0, 1)
    )
    assert spread == again != other
    assert spread < first / 2


def test_spread_start_draws_every_distinct_row_once() -> None:
    X = np.repeat(np.eye(3), 5, axis=0)
    chosen = spread_rows(X, 3, np.random.default_rng(0))
    assert len(np.unique(X[chosen], axis=0)) == 3
    assert len(set(spread_rows(X, 15, np.random.default_rng(0)))) == 15


def test_a_centre_without_instances_stays_where_it_is() -> None:
    X = np.array([[0.0], [0.0], [1.0]])
    model = KMeans(2, init="first", epochs=1).fit(X)
    assert model.cluster_centers_.ravel().tolist() == [pytest.approx(1 / 3), 0.0]


def test_transform_gives_distances_and_predict_the_smallest(digits: LabelledMatrix) -> None:
    model = KMeans(5, epochs=3).fit(digits)
    distances = model.transform(digits.features)
    np.testing.assert_array_equal(distances.argmin(axis=1), model.predict(digits.features))
    assert (distances.min(axis=1) ** 2).sum() == pytest.approx(model.inertia_)
    assert model.score(digits.features) == pytest.approx(-model.inertia_)
    assert model.test_metrics(digits) == {"test_inertia": pytest.approx(model.inertia_)}


def test_more_clusters_than_rows_are_refused() -> None:
    with pytest.raises(
        BadInput, match="n_clusters=5 must be a whole number at least 1 and at most 3"
    ):
        KMeans(5).fit(np.eye(3))


def test_gate_mnist(shared_data: Path) -> None:
    """Lloyd's known inertia after 30 iterations from the first 10 rows."""
    app = KMeans(10, init="first")
    placed = train_placed(app, mnist(shared_data), epochs=30, workers=3, servers=2)
    assert placed.loss == pytest.approx(388318.92, rel=1e-6)
