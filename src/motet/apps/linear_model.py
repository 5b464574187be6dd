"""The base class of linear regression, logistic regression and the linear SVM.

Each minimises mean loss(x . w + b, target) + l2 / 2 * ||w||^2, with an intercept b that is not
penalised, on the whole data set: an epoch is one step. Few columns: Newton's method
(`newton.py`); many: L-BFGS (`lbfgs.py`). Training uses standardised columns (`centred.py`), dense
or sparse by content, so the form in which data are given does not change the model. A key is a
feature, the last key the intercept. Subclasses define the loss.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from motet.apps.estimator import Estimator, features_for
from motet.apps.inputs.centred import RELATIVE_GRADIENT, Centred, steepest_slope, trained_features
from motet.apps.inputs.coordinates import Coordinates, feature_columns, features_of
from motet.apps.inputs.matrix import training_bytes, training_features
from motet.apps.inputs.memory import MODEL_COPIES, float64_bytes, require_memory
from motet.apps.optimisers.lbfgs import LBFGS, LBFGS_STATISTICS, DiagonalExpansion
from motet.apps.optimisers.newton import (
    Expansion,
    accept_or_damp,
    initial_newton_rows,
    newton_candidate,
    newton_coefficients,
    newton_delta,
    newton_delta_width,
    newton_gradient_norm,
    newton_row_width,
)
from motet.apps.optimisers.whole_batch import require_whole_batch
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Rows

LinearSolver = Literal["auto", "newton", "lbfgs"]

_NEWTON_STATISTICS = ("objective", "moved")
# A Hessian makes an epoch `columns` times as expensive; at 100 columns it saves as many epochs.
_NEWTON_COLUMNS = 256


class LinearModel(Estimator):
    """A linear model; subclasses define its loss."""

    dataset_kind: ClassVar[str] = "labelled"
    needs_bsp: bool = True
    residual_name: str = RELATIVE_GRADIENT
    default_epochs: ClassVar[int] = 200
    fitted_attribute: ClassVar[str] = "coef_"
    l2: float
    solver: LinearSolver

    coef_: Array
    intercept_: Array
    _coordinates: Coordinates
    _centre: Array
    _first_norm: float
    _penalty: Array
    _lbfgs: LBFGS
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
        self.statistics = _NEWTON_STATISTICS if self._uses_newton else LBFGS_STATISTICS
        self._lbfgs = LBFGS(self.n_features_in_ + 1, 1, has_intercept=True)
        self._require_memory(dataset)
        features = training_features(dataset)
        target = self.learn_target(dataset)
        trained, self._coordinates = trained_features(features, centring=True, scaling=True)
        self._centre = trained.centre
        slopes = self.slopes(np.zeros_like(target), target)
        self._first_norm = steepest_slope(trained, slopes) or 1.0
        self._penalty = np.append(self.l2 / self._coordinates.scale**2, 0.0)
        return Rows(np.arange(len(target)), {**feature_columns(trained.matrix), "target": target})

    def model_table(self) -> ModelTable:
        """Features, then the intercept."""
        if not self._uses_newton:
            return self._lbfgs.table
        keys = self.n_features_in_ + 1
        width, delta_shape = newton_row_width(keys), (newton_delta_width(keys),)
        return ModelTable(keys, (width,), np.dtype(np.float64), delta_shape=delta_shape)

    def initial_model(self, rows: Rows, seed: int) -> Array:
        """Return zeros."""
        del seed
        if self._uses_newton:
            return initial_newton_rows(self.n_features_in_ + 1)
        start = np.zeros((self.n_features_in_ + 1, 1))
        there = self._diagonal_expansion(self._features_of(rows), rows["target"], start)
        return self._lbfgs.initial_rows(start, there, len(rows))

    # -- one step ----------------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """All keys; the features as a matrix."""
        return Batch(rows, extras=self._features_of(rows))

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """The instances' part of the gradient, and of the Hessian for Newton's method."""
        require_whole_batch(step, self.name)
        features, target = batch.extras, batch.rows["target"]
        if self._uses_newton:
            return self._newton_update(features, target, model)
        move = self._lbfgs.step(model)
        if move is None:
            return self._lbfgs.no_update()
        point = self._lbfgs.coefficients(model) + move
        there = self._diagonal_expansion(features, target, point)
        return self._lbfgs.update(model, move, there, len(target))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """One step of the block's rows."""
        if not self._uses_newton:
            self._lbfgs.apply(values, delta, step.statistics, step.instances)
            return
        objective, moved = step.statistics
        if moved > 0:
            accept_or_damp(values, delta, objective / step.instances, step.instances)

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Array:
        """Sum of losses, then the tallies."""
        weights = self._weights(model)
        predictions = _predictions(self._features_of(rows), weights)
        return self._sums(predictions, rows["target"])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """objective (the loss) and the subclass's metrics."""
        mean_loss = float(sums[0]) / rows_count
        weights = self._weights(model)
        objective = mean_loss + float(self._penalty @ weights**2) / 2
        metrics = self.metrics(mean_loss, sums[1:], rows_count)
        residual = self._gradient_norm(model) / self._first_norm
        return Evaluation(objective, {"objective": objective, **metrics}, residual)

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
        return dataset.target_numbers()

    def linear_predictions(self, X: Any) -> Array:
        """x . w + b for every row."""
        features = features_for(self, X)
        return np.asarray(features @ np.ravel(self.coef_) + self.intercept_)

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        self.check_number("l2", at_least=0)
        if self.solver not in ("auto", "newton", "lbfgs"):
            raise BadArgument(f"{self.name}: solver={self.solver!r} must be auto, newton or lbfgs")

    def _require_memory(self, dataset: LabelledMatrix) -> None:
        columns = self.n_features_in_
        needs, mend = {"the features": training_bytes(dataset)}, "use fewer rows or columns"
        if self._uses_newton:
            needs["columns x columns"] = float64_bytes(columns, columns, copies=MODEL_COPIES)
            mend += ", or solver=lbfgs"
        subject = f"{self.name}: solver={self.solver}, {dataset.row_count:,} rows, "
        require_memory(f"{subject}{columns:,} columns,", needs, mend)

    def _weights(self, model: Array) -> Array:
        """Weights and intercept in trained coordinates, `(keys,)`."""
        if self._uses_newton:
            return newton_coefficients(model)
        return self._lbfgs.coefficients(model)[:, 0]

    def _gradient_norm(self, model: Array) -> float:
        if self._uses_newton:
            return newton_gradient_norm(model)
        return self._lbfgs.gradient_norm(model)

    def _features_of(self, rows: Rows) -> Centred:
        return Centred(features_of(rows, self.n_features_in_), self._centre)

    def _newton_update(self, features: Centred, target: Array, model: Array) -> Update:
        point = newton_candidate(model)
        if point is None:
            return Update(np.zeros((len(model), newton_delta_width(len(model)))), (0.0, 0.0))
        expansion = self._expansion(features, target, point)
        delta = newton_delta(point, expansion, len(target))
        return Update(delta, (expansion.value, float(len(target))))

    def _expansion(self, features: Centred, target: Array, point: Array) -> Expansion:
        """Expand the instances' objective around a point, with their part of the penalty."""
        predictions = _predictions(features, point)
        hessian = _weighted_gram(features, self.curvatures(predictions, target))
        hessian[np.diag_indices_from(hessian)] += len(target) * self._penalty
        return Expansion(
            value=self._objective_sum(predictions, target, point),
            gradient=self._gradient(features, self.slopes(predictions, target), point),
            hessian=hessian,
        )

    def _diagonal_expansion(
        self, features: Centred, target: Array, point: Array
    ) -> DiagonalExpansion:
        """As `_expansion`, with the diagonal of the Hessian; `point: (keys, 1)`."""
        weights = point[:, 0]
        predictions = _predictions(features, weights)
        curvatures = self.curvatures(predictions, target)[:, None]
        diagonal = np.vstack([features.square_sums(curvatures), curvatures.sum(axis=0)])
        return DiagonalExpansion(
            value=self._objective_sum(predictions, target, weights),
            gradient=self._gradient(features, self.slopes(predictions, target), weights)[:, None],
            diagonal=diagonal + len(target) * self._penalty[:, None],
        )

    def _objective_sum(self, predictions: Array, target: Array, point: Array) -> float:
        penalty = len(target) * self._penalty @ point**2 / 2
        return float(self.losses(predictions, target).sum() + penalty)

    def _gradient(self, features: Centred, slopes: Array, point: Array) -> Array:
        gradient = np.append(features.T @ slopes, slopes.sum())
        gradient += len(slopes) * self._penalty * point
        return gradient

    def _sums(self, predictions: Array, target: Array) -> Array:
        loss = self.losses(predictions, target).sum()
        return np.append(loss, self.tallies(predictions, target))


def _predictions(features: Centred, weights: Array) -> Array:
    return np.asarray(features @ weights[:-1] + weights[-1])


def _weighted_gram(features: Centred, weights: Array) -> Array:
    """[X 1]' diag(weights) [X 1], `(keys, keys)`."""
    keys = features.shape[1] + 1
    gram = np.empty((keys, keys))
    gram[:-1, :-1] = features.gram(weights)
    gram[-1, :-1] = gram[:-1, -1] = features.T @ weights
    gram[-1, -1] = weights.sum()
    return gram
