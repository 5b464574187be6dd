"""The base class of linear regression, logistic regression and the linear SVM.

Each minimises mean loss(x . w + b, target) + l2 / 2 * ||w||^2, with an intercept b that is not
penalised, on the whole data set: an epoch is one step. Few columns: Newton's method
(`newton.py`); many: accelerated gradient (`proximal.py`). Training uses coordinates in which every
column has the same curvature (`coordinates.py`). A key is a feature, the last key the
intercept. Subclasses define the loss.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from motet.apps.estimator import Estimator, features_for
from motet.apps.inputs.coordinates import (
    Coordinates,
    feature_columns,
    features_of,
    gram_norm,
    standardise,
)
from motet.apps.inputs.matrix import finite_features, training_bytes
from motet.apps.inputs.memory import MODEL_COPIES, float64_bytes, require_memory
from motet.apps.optimisers.newton import (
    Expansion,
    accept_or_damp,
    initial_newton_rows,
    newton_candidate,
    newton_coefficients,
    newton_delta,
    newton_delta_width,
    newton_row_width,
)
from motet.apps.optimisers.proximal import (
    PROXIMAL_ROW_WIDTH,
    extrapolate,
    initial_proximal_rows,
    needs_restart,
    proximal_coefficients,
    proximal_step,
)
from motet.apps.optimisers.whole_batch import require_whole_batch
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadInput
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Rows

Solver = Literal["auto", "newton", "gradient"]

# A Hessian makes an epoch `columns` times as expensive; at 100 columns it saves as many epochs.
_NEWTON_COLUMNS = 256


class LinearModel(Estimator):
    """A linear model; subclasses define its loss."""

    dataset_kind: ClassVar[str] = "labelled"
    statistics: tuple[str, ...] = ("restarts", "objective", "moved")
    needs_bsp: bool = True
    default_epochs: ClassVar[int] = 200
    fitted_attribute: ClassVar[str] = "coef_"
    curvature: ClassVar[float]
    """Upper bound of the loss's second derivative in the prediction."""
    l2: float
    solver: Solver

    coef_: Array
    intercept_: Array
    _coordinates: Coordinates
    _penalty: Array
    _step_size: float
    _uses_newton: bool

    # -- the loss: what a subclass defines ---------------------------------------------------------

    @abstractmethod
    def learn_target(self, dataset: LabelledMatrix) -> Array:
        """Return the target for the loss, `(rows,)`. Raises BadInput for an unsuitable one."""

    @abstractmethod
    def losses(self, predictions: Array, target: Array) -> Array:
        """Loss of every instance."""

    @abstractmethod
    def slopes(self, predictions: Array, target: Array) -> Array:
        """Derivative of every instance's loss in its prediction."""

    @abstractmethod
    def curvatures(self, predictions: Array, target: Array) -> Array:
        """Second derivative of every instance's loss in its prediction."""

    @abstractmethod
    def tallies(self, predictions: Array, target: Array) -> Array:
        """Sums over the instances from which `metrics` computes its values."""

    @abstractmethod
    def metrics(self, mean_loss: float, tallies: Array, rows_count: int) -> dict[str, float]:
        """Named metrics besides the objective."""

    # -- data and model ----------------------------------------------------------------------------

    def prepare(self, dataset: LabelledMatrix, seed: int) -> Rows:
        """Rows with features in trained coordinates and `target`."""
        del seed
        self._check_parameters()
        self.learn_features(dataset)
        self._uses_newton = self.solver == "newton" or (
            self.solver == "auto" and self.n_features_in_ <= _NEWTON_COLUMNS
        )
        self._require_memory(dataset)
        features = finite_features(dataset)
        target = self.learn_target(dataset)
        features, self._coordinates = standardise(features, self._column_scales)
        self._penalty = np.append(self.l2 / self._coordinates.scale**2, 0.0)
        if not self._uses_newton:
            steepest = self.curvature * gram_norm(features) + self._penalty.max()
            self._step_size = float(1 / steepest)
        return Rows(np.arange(len(target)), {**feature_columns(features), "target": target})

    def model_table(self) -> ModelTable:
        """Features, then the intercept."""
        keys = self.n_features_in_ + 1
        width, delta_shape = PROXIMAL_ROW_WIDTH, tuple[int, ...]()
        if self._uses_newton:
            width, delta_shape = newton_row_width(keys), (newton_delta_width(keys),)
        return ModelTable(keys, (width,), np.dtype(np.float64), delta_shape=delta_shape)

    def initial_model(self, rows: Rows, seed: int) -> Array:
        """Return zeros."""
        del rows, seed
        keys = self.n_features_in_ + 1
        if self._uses_newton:
            return initial_newton_rows(keys)
        return initial_proximal_rows(np.zeros(keys))

    # -- one step ----------------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """All keys; the features as a matrix."""
        return Batch(rows, extras=features_of(rows, self.n_features_in_))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """The instances' part of the gradient, and of the Hessian for Newton's method."""
        require_whole_batch(step, self.name)
        features, target = batch.extras, batch.rows["target"]
        if self._uses_newton:
            return self._newton_update(features, target, model)
        restart = needs_restart(model)
        point, _ = extrapolate(model, restart)
        slopes = self.slopes(_predictions(features, point), target)
        gradient = self._gradient(features, slopes, point)
        return Update(gradient, (float(restart * len(target)), 0.0, 0.0))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """One step of the block's rows."""
        restarts, objective, moved = step.statistics
        if not self._uses_newton:
            gradient = delta / step.instances
            proximal_step(values, gradient, restarts > 0, self._step_size)
        elif moved > 0:
            accept_or_damp(values, delta, objective / step.instances, step.instances)

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Array:
        """Sum of losses, then the tallies."""
        weights = self._weights(model)
        predictions = _predictions(features_of(rows, self.n_features_in_), weights)
        return self._sums(predictions, rows["target"])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """objective (the loss) and the subclass's metrics."""
        mean_loss = float(sums[0]) / rows_count
        weights = self._weights(model)
        objective = mean_loss + float(self._penalty @ weights**2) / 2
        metrics = self.metrics(mean_loss, sums[1:], rows_count)
        return Evaluation(objective, {"objective": objective, **metrics})

    # -- the fitted estimator ----------------------------------------------------------------------

    def adopt(self, model: Array, rows: Rows) -> None:
        """Weights in the original coordinates."""
        del rows
        weights = self._weights(model)
        self.coef_, self.intercept_ = self._coordinates.original(weights[:-1], weights[-1])

    def test_metrics(self, dataset: LabelledMatrix) -> dict[str, float]:
        """The subclass's metrics on held-out data."""
        target = self.known_target(dataset)
        sums = self._sums(self.linear_predictions(dataset), target)
        metrics = self.metrics(float(sums[0]) / len(target), sums[1:], len(target))
        return {f"test_{name}": value for name, value in metrics.items()}

    def known_target(self, dataset: LabelledMatrix) -> Array:
        """Return the target of held-out data in the form of `learn_target`."""
        return dataset.require_target()

    def linear_predictions(self, X: Any) -> Array:
        """x . w + b for every row."""
        features = features_for(self, X)
        return np.asarray(features @ np.ravel(self.coef_) + self.intercept_)

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self.check_number("l2", at_least=0)
        if self.solver not in ("auto", "newton", "gradient"):
            raise BadInput(f"{self.name}: solver={self.solver!r} must be auto, newton or gradient")

    def _require_memory(self, dataset: LabelledMatrix) -> None:
        columns = self.n_features_in_
        needs, mend = {"the features": training_bytes(dataset)}, "use fewer rows or columns"
        if self._uses_newton:
            needs["columns x columns"] = float64_bytes(columns, columns, copies=MODEL_COPIES)
            mend += ", or solver=gradient"
        subject = f"{self.name}: solver={self.solver}, {dataset.row_count:,} rows, "
        require_memory(f"{subject}{columns:,} columns,", needs, mend)

    def _weights(self, model: Array) -> Array:
        """Weights and intercept in trained coordinates, `(keys,)`."""
        if self._uses_newton:
            return newton_coefficients(model)
        return proximal_coefficients(model)

    def _newton_update(self, features: Any, target: Array, model: Array) -> Update:
        point = newton_candidate(model)
        if point is None:
            return Update(np.zeros((len(model), newton_delta_width(len(model)))), (0.0, 0.0, 0.0))
        expansion = self._expansion(features, target, point)
        delta = newton_delta(point, expansion, len(target))
        return Update(delta, (0.0, expansion.value, float(len(target))))

    def _expansion(self, features: Any, target: Array, point: Array) -> Expansion:
        """Expand the instances' objective around a point, with their part of the penalty."""
        predictions = _predictions(features, point)
        penalty = len(target) * self._penalty
        hessian = _weighted_gram(features, self.curvatures(predictions, target))
        hessian[np.diag_indices_from(hessian)] += penalty
        return Expansion(
            value=float(self.losses(predictions, target).sum() + penalty @ point**2 / 2),
            gradient=self._gradient(features, self.slopes(predictions, target), point),
            hessian=hessian,
        )

    def _gradient(self, features: Any, slopes: Array, point: Array) -> Array:
        gradient = np.append(features.T @ slopes, slopes.sum())
        gradient += len(slopes) * self._penalty * point
        return gradient

    def _sums(self, predictions: Array, target: Array) -> Array:
        loss = self.losses(predictions, target).sum()
        return np.append(loss, self.tallies(predictions, target))

    def _column_scales(self, mean_squares: Array) -> Array:
        """Divisors that give the objective the same curvature along every column."""
        scales = np.sqrt(mean_squares + self.l2 / self.curvature)
        return np.where(scales > 0, scales, 1.0)


def _predictions(features: Any, weights: Array) -> Array:
    return np.asarray(features @ weights[:-1] + weights[-1])


def _weighted_gram(features: Any, weights: Array) -> Array:
    """[X 1]' diag(weights) [X 1], `(keys, keys)`."""
    keys = features.shape[1] + 1
    gram = np.empty((keys, keys))
    if isinstance(features, np.ndarray):
        gram[:-1, :-1] = features.T @ (weights[:, None] * features)
    else:
        gram[:-1, :-1] = (features.T @ features.multiply(weights[:, None])).toarray()
    gram[-1, :-1] = gram[:-1, -1] = features.T @ weights
    gram[-1, -1] = weights.sum()
    return gram
