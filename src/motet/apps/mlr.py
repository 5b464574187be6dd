"""Multinomial logistic regression (softmax).

Minimises mean log-loss + l2 / 2 * ||W||^2; the intercept is not penalised. Two solvers for the same
optimum:

    lbfgs   L-BFGS on the all-reduced gradient, an epoch is one step (`optimisers/lbfgs.py`)
    saga    variance-reduced mini-batches (`optimisers/saga.py`), for wide models: a mini-batch of
            sparse rows pulls and pushes only the features that occur in it

The form in which data are given does not change the model: what is mostly 0 trains as CSR, the rest
dense. Columns are centred without filling sparse ones (`centred.py`), and scaled; under saga only
if at least a tenth of all entries is not 0, because a centred mini-batch needs all features, and
scaled only where one towers above the others.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from motet.apps.estimator import Estimator, EstimatorType, features_for
from motet.apps.inputs.centred import RELATIVE_GRADIENT, Centred, trained_features
from motet.apps.inputs.class_labels import accuracy, class_numbers, learn_classes
from motet.apps.inputs.coordinates import Coordinates, feature_columns, features_of
from motet.apps.inputs.matrix import (
    nonzero_share,
    require_entries,
    training_bytes,
    training_features,
)
from motet.apps.inputs.memory import MODEL_COPIES, ROW_COPIES, float64_bytes, require_memory
from motet.apps.optimisers.lbfgs import LBFGS, LBFGS_STATISTICS, DiagonalExpansion
from motet.apps.optimisers.saga import (
    initial_saga_rows,
    saga_batch,
    saga_gradient_norm,
    saga_table,
    saga_update,
    saga_weights,
    shrink_large_columns,
    stable_step_size,
)
from motet.apps.optimisers.softmax_start import FrequencyModel, expand_equal_rows
from motet.apps.optimisers.whole_batch import require_whole_batch
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Rows

MlrSolver = Literal["auto", "lbfgs", "saga"]

# Every worker pulls the whole table of lbfgs in every epoch.
_LBFGS_BYTES = 64_000_000
_CENTRED_SHARE = 0.1


class MLR(Estimator):
    """Softmax classifier for two or more classes.

    `l2`: penalty. `solver`: lbfgs (an epoch is one step on the whole data set), saga
    (mini-batches), or auto: lbfgs if its table, (features + 1) x (23 classes + 3) numbers, takes at
    most 64 MB. Only saga uses `learning_rate`, the first step size, in trained units (None: from
    the data), and `batch_size`, instances per mini-batch over all workers (0: all); lbfgs takes all
    instances at once. Training ends once the relative gradient norm is at most `tol`. Fitted:
    `coef_: (classes, features)`, `intercept_: (classes,)`, `classes_`.
    """

    name: ClassVar[str] = "mlr"
    dataset_kind: ClassVar[str] = "labelled"
    estimator_type: ClassVar[EstimatorType | None] = "classifier"
    without_bsp: str = "solver=saga"
    residual_name: str = RELATIVE_GRADIENT
    default_epochs: ClassVar[int] = 300

    classes_: Array
    coef_: Array
    intercept_: Array
    _coordinates: Coordinates
    _centre: Array
    _penalty: Array
    _first: FrequencyModel
    _first_step_size: float
    _lbfgs: LBFGS
    _uses_lbfgs: bool

    def __init__(
        self,
        l2: float = 1e-4,
        solver: MlrSolver = "auto",
        learning_rate: float | None = None,
        batch_size: int = 100,
        epochs: int = default_epochs,
        tol: float = 1e-5,
        random_state: int | None = 0,
    ) -> None:
        self.l2 = l2
        self.solver = solver
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.tol = tol
        self.random_state = random_state

    @property
    def batch_size(self) -> int:
        """Instances per mini-batch over all workers: as set, but 0 once lbfgs has been chosen."""
        return 0 if self._uses_lbfgs else self._set_batch_size

    @batch_size.setter
    def batch_size(self, value: int) -> None:
        self._set_batch_size = value
        self._uses_lbfgs = False

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyper-parameters by name, `batch_size` as it was set."""
        return {**super().get_params(deep), "batch_size": self._set_batch_size}

    # -- data and model ----------------------------------------------------------------------------

    def prepare(self, dataset: LabelledMatrix, seed: int) -> Rows:
        """Rows with features, `label` and, for saga, the remembered `residual`."""
        del seed
        self._check_parameters()
        require_entries(dataset)
        self.classes_, labels = learn_classes(dataset)
        self.learn_features(dataset)
        self._choose_solver()
        self._require_memory(dataset)
        features = self._trained_features(dataset)
        self._first = FrequencyModel.of(features, labels, len(self.classes_))
        columns = {**feature_columns(features.matrix), "label": labels}
        if not self._uses_lbfgs:
            columns["residual"] = np.zeros((len(labels), len(self.classes_)))
        return Rows(np.arange(len(labels)), columns)

    def model_table(self) -> ModelTable:
        """Features and intercept; for saga also the step-size row."""
        if self._uses_lbfgs:
            return self._lbfgs.table
        return saga_table(self.n_features_in_, len(self.classes_))

    def initial_model(self, rows: Rows, seed: int) -> Array:
        """Zero weights; under lbfgs the intercept begins at the classes' frequencies."""
        del seed
        classes = len(self.classes_)
        if not self._uses_lbfgs:
            return initial_saga_rows(self._penalty, classes, self._first_step_size)
        start = np.zeros((self.n_features_in_ + 1, classes))
        frequencies = np.log(np.bincount(rows["label"], minlength=classes) + 1)
        start[-1] = frequencies - frequencies.mean()
        first = expand_equal_rows(start[-1], rows["label"])
        there = self._penalised(self._features_of(rows), start, *first)
        return self._lbfgs.initial_rows(start, there, len(rows))

    def warm_up(self) -> None:
        """Compile all kernels."""
        from scipy.sparse import csr_matrix

        from motet.apps.kernels.softmax import variance_reduced_step

        x, y = np.eye(4), np.arange(4) % 2
        MLR(solver="lbfgs", epochs=1, tol=0).fit(x, y)
        MLR(solver="saga", batch_size=2, epochs=1, tol=0).fit(x + 1, y)
        MLR(solver="saga", batch_size=2, epochs=1, tol=0).fit(csr_matrix(x), y)
        received = np.zeros((1, 2))
        received.flags.writeable = False
        variance_reduced_step(np.zeros((1, 5)), received, 1.0, 1, 1.0, 1)

    # -- one step ----------------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """Under lbfgs all keys and the features as a matrix."""
        if self._uses_lbfgs:
            return Batch(rows, extras=self._features_of(rows))
        return saga_batch(rows, self._centre)

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """The gradient after the next step (lbfgs), or changes of gradient (saga)."""
        classes = len(self.classes_)
        if not self._uses_lbfgs:
            return saga_update(batch, model, classes, self._centre)
        require_whole_batch(step, self.name)
        move = self._lbfgs.step(model)
        if move is None:
            return self._lbfgs.no_update()
        labels = batch.rows["label"]
        there = self._expansion(batch.extras, labels, self._lbfgs.coefficients(model) + move)
        return self._lbfgs.update(model, move, there, len(labels))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """One step of the block's rows."""
        from motet.apps.kernels.softmax import variance_reduced_step

        if self._uses_lbfgs:
            self._lbfgs.apply(values, delta, step.statistics, step.instances)
            return
        step_size = step.statistics[0] / (step.instances * step.share)
        variance_reduced_step(
            values, delta, step_size, step.instances, step.share, step.instance_count
        )

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Array:
        """Return the sum of log-losses and the number of correct predictions."""
        from motet.apps.kernels.softmax import loss_and_hits

        weights = self._weights(model)
        logits = self._features_of(rows) @ weights[:-1] + weights[-1]
        return np.array(loss_and_hits(logits, rows["label"]), dtype=np.float64)

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """objective (the loss), log_loss, accuracy."""
        log_loss, accuracy = (float(value) for value in sums / rows_count)
        weights = self._weights(model)[:-1]
        objective = log_loss + float(self._penalty @ (weights**2).sum(axis=1)) / 2
        metrics = {"objective": objective, "log_loss": log_loss, "accuracy": accuracy}
        residual = self._first.relative(self._gradient_norm(model), objective)
        return Evaluation(objective, metrics, residual)

    # -- the fitted estimator ----------------------------------------------------------------------

    def adopt(self, model: Array, rows: Rows) -> None:
        """Weights in the original coordinates."""
        del rows
        trained = self._weights(model)
        weights, self.intercept_ = self._coordinates.original(trained[:-1], trained[-1])
        self.coef_ = np.ascontiguousarray(weights.T)

    def test_metrics(self, dataset: LabelledMatrix) -> dict[str, float]:
        """test_log_loss, test_accuracy."""
        from motet.apps.kernels.softmax import loss_and_hits

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
        return accuracy(self.classes_, self.predict(X), y)

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self._uses_lbfgs = False
        self.check_number("l2", at_least=0)
        self.check_number("batch_size", at_least=0, whole=True)
        if self.learning_rate is not None:
            self.check_number("learning_rate", above=0)
        if self.solver not in ("auto", "lbfgs", "saga"):
            raise BadArgument(f"mlr: solver={self.solver!r} must be auto, lbfgs or saga")

    def _choose_solver(self) -> None:
        self._lbfgs = LBFGS(self.n_features_in_ + 1, len(self.classes_), has_intercept=True)
        fits = self._lbfgs.table.nbytes <= _LBFGS_BYTES
        self._uses_lbfgs = self.solver == "lbfgs" or (self.solver == "auto" and fits)
        self.needs_bsp = self._uses_lbfgs
        self.state_columns = () if self._uses_lbfgs else ("residual",)
        self.statistics = LBFGS_STATISTICS if self._uses_lbfgs else ("step_size",)

    def _require_memory(self, dataset: LabelledMatrix) -> None:
        """Check the memory; the deltas of saga are half as wide as its rows."""
        rows, columns, classes = dataset.row_count, dataset.feature_count, len(self.classes_)
        model = f"the model of {columns:,} columns"
        if self._uses_lbfgs:
            needs = {model: MODEL_COPIES * self.model_table().nbytes}
        else:
            needs = {
                model: float64_bytes(columns, classes, copies=MODEL_COPIES + 1),
                f"residuals of {rows:,} rows": float64_bytes(rows, classes, copies=ROW_COPIES),
            }
        needs["the features"] = training_bytes(dataset)
        mend = "use fewer rows or columns, or a --target with fewer classes"
        require_memory(f"mlr: {dataset.source}: a target of {classes:,} classes", needs, mend)

    def _trained_features(self, dataset: LabelledMatrix) -> Centred:
        """The features in trained coordinates."""
        features = training_features(dataset)
        centring = self._uses_lbfgs or nonzero_share(features) >= _CENTRED_SHARE
        scale_of = np.sqrt if self._uses_lbfgs else shrink_large_columns
        trained, self._coordinates = trained_features(features, centring, True, scale_of)
        self._centre, self._penalty = trained.centre, self.l2 / self._coordinates.scale**2
        if not self._uses_lbfgs:
            self._first_step_size = self.learning_rate or stable_step_size(
                trained, self._penalty, len(self.classes_), self.batch_size
            )
        return trained

    def _features_of(self, rows: Rows) -> Centred:
        return Centred(features_of(rows, self.n_features_in_), self._centre)

    def _weights(self, model: Array) -> Array:
        """Weights in trained coordinates, the intercept last, `(features + 1, classes)`."""
        if self._uses_lbfgs:
            return self._lbfgs.coefficients(model)
        return saga_weights(model, len(self.classes_))

    def _gradient_norm(self, model: Array) -> float:
        if self._uses_lbfgs:
            return self._lbfgs.gradient_norm(model)
        return saga_gradient_norm(model, len(self.classes_))

    def _expansion(self, features: Centred, labels: Array, weights: Array) -> DiagonalExpansion:
        """Expand the instances' objective around a point, with their part of the penalty."""
        from motet.apps.kernels.softmax import expand_softmax

        logits = features @ weights[:-1] + weights[-1]
        curvatures = np.empty_like(logits)
        loss = expand_softmax(logits, labels, curvatures)
        return self._penalised(features, weights, loss, logits, curvatures)

    def _penalised(
        self, features: Centred, weights: Array, loss: float, residuals: Array, curvatures: Array
    ) -> DiagonalExpansion:
        """The expansion of the instances' loss with their part of the penalty."""
        penalty = len(residuals) * self._penalty[:, None]
        pull = penalty * weights[:-1]
        return DiagonalExpansion(
            value=float(loss + np.vdot(pull, weights[:-1]) / 2),
            gradient=np.vstack([features.T @ residuals + pull, residuals.sum(axis=0)]),
            diagonal=np.vstack(
                [features.square_sums(curvatures) + penalty, curvatures.sum(axis=0)]
            ),
        )
