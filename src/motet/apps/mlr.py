"""Multinomial logistic regression (softmax) by variance-reduced mini-batch SGD.

Minimises mean log-loss + l2 / 2 * ||W||^2; the intercept is not penalised. Every instance
stores its last residual p - onehot(label), `(classes,)`, which moves with it; servers store the
mean of all stored gradients. A mini-batch then moves W by

    step_size * (mean over the batch of x (residual - stored residual) + mean gradient + l2 W)

(SAGA, Defazio et al. 2014, in mini-batches). Its noise vanishes at the optimum, so no schedule
needs tuning: the step size follows from the data's curvature and is halved after an epoch in which
the loss has risen.

A key is a feature, its row [w: classes | mean gradient: classes | penalty]. The last key but one
is the intercept (penalty 0). The last is the step-size row: the current step size
and the losses so far. The workers pull it and report the step size to all blocks as a statistic.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from motet.apps.estimator import Estimator, EstimatorType, features_for
from motet.apps.inputs.class_labels import class_numbers, learn_classes
from motet.apps.inputs.coordinates import (
    Coordinates,
    Features,
    feature_columns,
    features_of,
    gram_norm,
    mean_squares,
    standardise,
)
from motet.apps.inputs.matrix import finite_features, training_bytes
from motet.apps.inputs.memory import MODEL_COPIES, ROW_COPIES, float64_bytes, require_memory
from motet.apps.kernels.softmax import (
    loss_and_hits,
    renew_residuals,
    sparse_gradient,
    variance_reduced_step,
)
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Rows

_STEP_SIZE_ROW = -1.0
_TOWERING = 10.0


class MLR(Estimator):
    """Softmax classifier for two or more classes.

    `l2`: penalty. `learning_rate`: the first step size, in trained units; None: from the data.
    `batch_size`: instances per mini-batch over all workers (0: all). Fitted:
    `coef_: (classes, features)`, `intercept_: (classes,)`, `classes_`.
    """

    name: ClassVar[str] = "mlr"
    dataset_kind: ClassVar[str] = "labelled"
    estimator_type: ClassVar[EstimatorType | None] = "classifier"
    statistics: ClassVar[tuple[str, ...]] = ("step_size",)
    state_columns: ClassVar[tuple[str, ...]] = ("residual",)
    default_epochs: ClassVar[int] = 20

    classes_: Array
    coef_: Array
    intercept_: Array
    n_features_in_: int
    _coordinates: Coordinates
    _penalty: Array
    _first_step_size: float

    def __init__(
        self,
        l2: float = 1e-4,
        learning_rate: float | None = None,
        batch_size: int = 100,
        epochs: int = default_epochs,
        tol: float = 0.0,
        random_state: int | None = 0,
    ) -> None:
        self.l2 = l2
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.tol = tol
        self.random_state = random_state

    # -- data and model ----------------------------------------------------------------------------

    def prepare(self, dataset: LabelledMatrix, seed: int) -> Rows:
        """Rows with features, `label` and the remembered `residual`."""
        del seed
        self._check_parameters()
        self.classes_, labels = learn_classes(dataset)
        self._require_memory(dataset)
        features, self._coordinates = standardise(finite_features(dataset), shrink_large_columns)
        self._penalty = self.l2 / self._coordinates.scale**2
        self._first_step_size = self.learning_rate or self._stable_step_size(features)
        self.learn_features(dataset)
        residual = np.zeros((len(labels), len(self.classes_)))
        columns = {**feature_columns(features), "label": labels, "residual": residual}
        return Rows(np.arange(len(labels)), columns)

    def model_table(self) -> ModelTable:
        """Features, intercept, step-size row."""
        classes = len(self.classes_)
        return ModelTable(
            self.n_features_in_ + 2,
            (2 * classes + 1,),
            np.dtype(np.float64),
            delta_shape=(classes,),
        )

    def initial_model(self, rows: Rows, seed: int) -> Array:
        """Return zero weights and the stable step size."""
        del rows, seed
        model = np.zeros(self.model_table().shape)
        model[:-2, -1] = self._penalty
        model[-1, [0, 3, -1]] = self._first_step_size, np.inf, _STEP_SIZE_ROW
        return model

    def warm_up(self) -> None:
        """Compile all kernels."""
        tiny = MLR(batch_size=2, epochs=1)
        x, y = np.eye(4), np.arange(4) % 2
        tiny.fit(x, y)
        from scipy.sparse import csr_matrix

        tiny.fit(csr_matrix(x), y)
        received = np.zeros((1, 2))
        received.flags.writeable = False
        variance_reduced_step(np.zeros((1, 5)), received, 1.0, 1, 1.0, 1)

    # -- one mini-batch ----------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """Sparse rows pull only the features that occur in them, if that is at most half of all."""
        if "x" in rows.columns:
            return Batch(rows)
        columns = rows.ragged("columns").values
        occurring = np.unique(columns).astype(np.int64)
        if 2 * len(occurring) > self.n_features_in_:
            return Batch(rows, extras=columns)
        keys = np.append(occurring, [self.n_features_in_, self.n_features_in_ + 1])
        return Batch(rows, keys, extras=np.searchsorted(occurring, columns).astype(np.int32))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """Return the changes of gradient, and loss and instances for the step-size row."""
        del step
        rows, classes = batch.rows, len(self.classes_)
        delta = np.zeros((len(model), classes))
        if "x" in rows.columns:
            loss = _dense_gradient(rows, model, delta)
        else:
            entries = rows.ragged("entries")
            loss = sparse_gradient(
                entries.offsets,
                batch.extras,
                entries.values,
                rows["label"],
                rows["residual"],
                model,
                delta,
            )
        delta[-1, :2] = loss, len(rows)
        return Update(delta, (float(model[-1, 0]) * len(rows),))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """One variance-reduced step of the block's rows."""
        step_size = step.statistics[0] / (step.instances * step.share)
        variance_reduced_step(
            values, delta, step_size, step.instances, step.share, step.instance_count
        )

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Array:
        """Return the sum of log-losses and the number of correct predictions."""
        weights, intercept = self._weights(model)
        logits = features_of(rows, self.n_features_in_) @ weights + intercept
        return np.array(loss_and_hits(logits, rows["label"]), dtype=np.float64)

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """objective (the loss), log_loss, accuracy."""
        log_loss, accuracy = (float(value) for value in sums / rows_count)
        weights, _ = self._weights(model)
        objective = log_loss + float(self._penalty @ (weights**2).sum(axis=1)) / 2
        metrics = {"objective": objective, "log_loss": log_loss, "accuracy": accuracy}
        return Evaluation(objective, metrics)

    # -- the fitted estimator ----------------------------------------------------------------------

    def adopt(self, model: Array, rows: Rows) -> None:
        """Weights in the original coordinates."""
        del rows
        weights, self.intercept_ = self._coordinates.original(*self._weights(model))
        self.coef_ = np.ascontiguousarray(weights.T)

    def test_metrics(self, dataset: LabelledMatrix) -> dict[str, float]:
        """test_log_loss, test_accuracy."""
        labels = class_numbers(dataset, self.classes_)
        sums = np.array(loss_and_hits(self.decision_function(dataset), labels)) / len(labels)
        return {"test_log_loss": float(sums[0]), "test_accuracy": float(sums[1])}

    def decision_function(self, X: Any) -> Array:
        """Logits, `(rows, classes)`."""
        return np.asarray(features_for(self, X) @ self.coef_.T + self.intercept_)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, `(rows, classes)`, in the order of `classes_`."""
        from scipy.special import softmax

        return np.asarray(softmax(self.decision_function(X), axis=1))

    def predict(self, X: Any) -> Array:
        """Return the most probable class of every row."""
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])

    def score(self, X: Any, y: Any) -> float:
        """Accuracy."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self.check_number("l2", at_least=0)
        self.check_number("batch_size", at_least=0, whole=True)
        if self.learning_rate is not None:
            self.check_number("learning_rate", above=0)

    def _require_memory(self, dataset: LabelledMatrix) -> None:
        """Check the memory: model rows have weights and mean gradients, deltas only gradients."""
        rows, columns, classes = dataset.row_count, dataset.feature_count, len(self.classes_)
        needs = {
            f"the model of {columns:,} columns": float64_bytes(
                columns, classes, copies=MODEL_COPIES + 1
            ),
            f"residuals of {rows:,} rows": float64_bytes(rows, classes, copies=ROW_COPIES),
            "the features": training_bytes(dataset),
        }
        mend = "use fewer rows or columns, or a --target with fewer classes"
        require_memory(f"mlr: {dataset.source}: a target of {classes:,} classes", needs, mend)

    def _weights(self, model: Array) -> tuple[Array, Array]:
        """Weights `(features, classes)` and intercept `(classes,)` in trained coordinates."""
        classes = len(self.classes_)
        return model[:-2, :classes], model[-2, :classes]

    def _stable_step_size(self, features: Features) -> float:
        """1 / (1 / classes * L): softmax's curvature at uniform probabilities, and that of X'X / n.

        The part of X'X / n that a mini-batch of B instances adds to the mean is at most the mean
        squared row norm / B.
        """
        spread = mean_squares(features).sum() + 1
        batch_size = self.batch_size or features.shape[0]
        curvature = (gram_norm(features) + spread / batch_size) / len(self.classes_)
        return float(1 / (curvature + self._penalty.max(initial=0.0)))


def shrink_large_columns(mean_squares: Array) -> Array:
    """Return divisors that shrink columns far above the typical one; all others stay the same.

    Full standardisation would enlarge columns that hardly vary (a border pixel) and cost more
    epochs than it saves.
    """
    varying = mean_squares[mean_squares > 0]
    if not len(varying):
        return np.ones_like(mean_squares)
    heights = mean_squares / (_TOWERING * np.median(varying))
    return np.asarray(np.sqrt(np.maximum(heights, 1.0)))


def _dense_gradient(rows: Rows, model: Array, delta: Array) -> float:
    """Add the rows' changes of gradient to `delta: (keys, classes)`; returns the sum of losses."""
    classes = delta.shape[1]
    changes = rows["x"] @ model[:-2, :classes]
    changes += model[-2, :classes]
    loss = renew_residuals(changes, rows["label"], rows["residual"])
    np.matmul(rows["x"].T, changes, out=delta[:-2])
    delta[-2] = changes.sum(axis=0)
    return float(loss)
