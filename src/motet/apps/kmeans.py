"""K-means by Lloyd's algorithm on the whole data set: an epoch is one iteration.

A key is a centre, its row the centre's position. Workers push, for every centre, the number of the
instances nearest to it and the sum of their differences from it; the owner moves the centre by the
mean difference. A centre without instances does not move. The loss is the inertia: the sum of
squared distances to the nearest centre. Dense columns are centred, so that an offset (time stamps,
coordinates) does not take the digits of the distances.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from motet.apps.estimator import Estimator, EstimatorType, features_for
from motet.apps.inputs.coordinates import feature_columns, features_of
from motet.apps.inputs.distances import as_dense, nearest_centres, squared_distances
from motet.apps.inputs.matrix import require_entries, training_bytes, training_features
from motet.apps.inputs.memory import MODEL_COPIES, float64_bytes, require_memory
from motet.apps.inputs.spread_rows import spread_rows
from motet.apps.optimisers.whole_batch import require_whole_batch
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Rows

InitialCentres = Literal["k-means++", "first"]


class KMeans(Estimator):
    """Lloyd's K-means. Fitted: `cluster_centers_: (n_clusters, features)`, `labels_`, `inertia_`.

    `init`: "k-means++" (seeded) or "first", the first `n_clusters` rows.
    """

    name: ClassVar[str] = "kmeans"
    dataset_kind: ClassVar[str] = "unlabelled"
    estimator_type: ClassVar[EstimatorType | None] = "clusterer"
    needs_bsp: bool = True
    default_epochs: ClassVar[int] = 30
    fitted_attribute: ClassVar[str] = "cluster_centers_"

    cluster_centers_: Array
    labels_: Array
    inertia_: float
    _shift: Array

    def __init__(
        self,
        n_clusters: int = 8,
        init: InitialCentres = "k-means++",
        epochs: int = default_epochs,
        tol: float = 1e-6,
        random_state: int | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.epochs = epochs
        self.tol = tol
        self.random_state = random_state

    # -- data and model ----------------------------------------------------------------------------

    def prepare(self, dataset: LabelledMatrix, seed: int) -> Rows:
        """Rows with features."""
        del seed
        require_entries(dataset)
        self.check_number("n_clusters", at_least=1, at_most=dataset.row_count, whole=True)
        if self.init not in ("k-means++", "first"):
            raise BadArgument(f"kmeans: init={self.init!r} must be k-means++ or first")
        self._require_memory(dataset)
        features = training_features(dataset)
        self.learn_features(dataset)
        self._shift = np.zeros(self.n_features_in_)
        if isinstance(features, np.ndarray):
            self._shift = features.mean(axis=0)
            features = features - self._shift
        return Rows(np.arange(dataset.row_count), feature_columns(features))

    def model_table(self) -> ModelTable:
        """Centres; a delta has the count after the sums of differences."""
        return ModelTable(
            self.n_clusters,
            (self.n_features_in_,),
            np.dtype(np.float64),
            delta_shape=(self.n_features_in_ + 1,),
        )

    def initial_model(self, rows: Rows, seed: int) -> Array:
        """Rows of the data set."""
        features = features_of(rows, self.n_features_in_)
        if self.init == "first":
            chosen = np.arange(self.n_clusters)
        else:
            chosen = spread_rows(features, self.n_clusters, np.random.default_rng([seed, 0x63]))
        return as_dense(features[chosen])

    # -- one iteration -----------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """All keys; the features as a matrix."""
        return Batch(rows, extras=features_of(rows, self.n_features_in_))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """Differences and number of the instances nearest to every centre."""
        require_whole_batch(step, self.name)
        nearest, _ = nearest_centres(batch.extras, model)
        counts = np.bincount(nearest, minlength=len(model))
        members = _membership(nearest, len(model))
        differences = as_dense(members @ batch.extras) - counts[:, None] * model
        return Update(np.column_stack([differences, counts]))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """Move every centre that has instances to their mean."""
        del step
        counts = delta[:, -1:]
        values += delta[:, :-1] / np.maximum(counts, 1)

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Array:
        """Sum of squared distances to the nearest centre."""
        _, squares = nearest_centres(features_of(rows, self.n_features_in_), model)
        return np.array([squares.sum()])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """inertia (the loss)."""
        del model, rows_count
        return Evaluation(float(sums[0]), {"inertia": float(sums[0])})

    # -- the fitted estimator ----------------------------------------------------------------------

    def adopt(self, model: Array, rows: Rows) -> None:
        """Centres, and the rows' clusters."""
        self.cluster_centers_ = model + self._shift
        features = features_of(rows, self.n_features_in_)
        self.labels_, squares = nearest_centres(features, np.asarray(model))
        self.inertia_ = float(squares.sum())

    def test_metrics(self, dataset: LabelledMatrix) -> dict[str, float]:
        """test_inertia."""
        return {"test_inertia": -self.score(dataset)}

    def predict(self, X: Any) -> Array:
        """The nearest centre of every row."""
        return self._nearest(X)[0]

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Train and return the cluster of every row."""
        return self.fit(X, y).labels_

    def transform(self, X: Any) -> Array:
        """Distances to all centres, `(rows, n_clusters)`."""
        return np.asarray(np.sqrt(squared_distances(*self._centred(X))))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the inertia."""
        del y
        return -float(self._nearest(X)[1].sum())

    def _require_memory(self, dataset: LabelledMatrix) -> None:
        clusters, rows, columns = self.n_clusters, dataset.row_count, dataset.feature_count
        needs = {
            "the features": training_bytes(dataset),
            f"distances of {rows:,} rows": float64_bytes(rows, clusters, copies=2),
            "the centres": float64_bytes(clusters, columns, copies=MODEL_COPIES),
        }
        require_memory(f"kmeans: n_clusters={clusters}", needs, "lower n_clusters")

    def _nearest(self, X: Any) -> tuple[Array, Array]:
        return nearest_centres(*self._centred(X))

    def _centred(self, X: Any) -> tuple[Any, Array]:
        """Features and centres; dense ones without the mean of the centres."""
        features = features_for(self, X)
        if not isinstance(features, np.ndarray):
            return features, self.cluster_centers_
        shift = self.cluster_centers_.mean(axis=0)
        return features - shift, self.cluster_centers_ - shift


def _membership(nearest: Array, centre_count: int) -> Any:
    """Return a sparse `(centres, rows)` matrix with a 1 if a row belongs to a centre."""
    from scipy.sparse import csc_matrix

    count = len(nearest)
    entries = (np.ones(count), nearest, np.arange(count + 1))
    return csc_matrix(entries, shape=(centre_count, count))
