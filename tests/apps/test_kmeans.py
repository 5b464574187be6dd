"""K-means: scikit-learn's inertia, seeding, empty clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import make_blobs

from motet.apps.inputs.spread_rows import spread_rows
from motet.apps.kmeans import KMeans
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


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("offset", [1e6, 1.7e9])
def test_an_offset_of_the_columns_does_not_change_clusters(form: Any, offset: float) -> None:
    X = make_blobs(300, 3, centers=4, cluster_std=0.5, random_state=0)[0]
    near, far = KMeans(4).fit(X), KMeans(4).fit(form(X + offset))
    np.testing.assert_array_equal(far.labels_, near.labels_)
    np.testing.assert_array_equal(far.predict(form(X + offset)), near.labels_)
    assert far.inertia_ == pytest.approx(near.inertia_, rel=1e-6)
    assert far.score(form(X + offset)) == pytest.approx(-near.inertia_, rel=1e-6)
    distances = far.transform(form(X[:5] + offset))
    np.testing.assert_allclose(distances, near.transform(X[:5]), rtol=1e-6)


def test_an_offset_does_not_change_clusters_on_workers() -> None:
    X = make_blobs(300, 3, centers=4, cluster_std=0.5, random_state=0)[0]
    far = LabelledMatrix(X + 1.7e9, source="far")
    placed = train_placed(KMeans(4), far, epochs=10, workers=3, servers=2)
    assert placed.loss == pytest.approx(KMeans(4).fit(X).inertia_, rel=1e-6)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_clusters_far_apart_keep_the_digits_of_their_distances(form: Any) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 4)) + np.repeat([[0.0], [1e9], [3e9]], 30, axis=0)
    model = KMeans(3).fit(form(X))
    labels = np.repeat(np.arange(3), 30)
    inertia = sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in range(3))
    assert model.inertia_ == pytest.approx(inertia, rel=1e-6)


@pytest.mark.soak
def test_the_start_finds_clusters_as_often_as_scikit_learn() -> None:
    ours = peers = 0
    for seed in range(20):
        X = make_blobs(600, 5, centers=12, cluster_std=0.8, random_state=seed)[0]
        best = 1.01 * Peer(12, n_init=10, random_state=0).fit(X).inertia_
        ours += KMeans(12).fit(X).inertia_ < best
        peers += Peer(12, random_state=0).fit(X).inertia_ < best
    assert ours >= peers - 3


def test_more_clusters_than_rows_are_refused() -> None:
    with pytest.raises(
        BadInput, match="n_clusters=5 must be a whole number at least 1 and at most 3"
    ):
        KMeans(5).fit(np.eye(3))


@pytest.mark.soak
def test_gate_mnist(shared_data: Path) -> None:
    """Lloyd's known inertia after 30 iterations from the first 10 rows."""
    app = KMeans(10, init="first")
    placed = train_placed(app, mnist(shared_data), epochs=30, workers=3, servers=2)
    assert placed.loss == pytest.approx(388318.92, rel=1e-6)
