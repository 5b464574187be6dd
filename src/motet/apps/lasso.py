"""Lasso: sparse linear regression.

Minimises ||y - X w - b||^2 / 2n + l1 * ||w||_1; the intercept b is not penalised, so w is that of
centred data (`centred.py`). Three solvers for the same optimum:

    gram    coordinate descent on the all-reduced Gram matrix, columns^2 (`gram_descent.py`)
    active  coordinate descent on the Gram matrices of working sets (`working_set.py`)
    fista   accelerated proximal gradient with restart on the whole data set (`proximal.py`)

Jacobi-style parallel coordinate descent diverges on correlated columns, and proximal SGD stops
three digits before the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from motet.apps.estimator import Estimator, EstimatorType, features_for
from motet.apps.inputs.centred import RELATIVE_GRADIENT, Centred, steepest_slope, trained_features
from motet.apps.inputs.coordinates import Coordinates, feature_columns, features_of, gram_norm
from motet.apps.inputs.matrix import (
    regression_test_metrics,
    training_bytes,
    training_features,
    varying_target,
)
from motet.apps.inputs.memory import OWN_DELTA_COPIES, float64_bytes, require_memory
from motet.apps.optimisers.gram_descent import (
    apply_gram_delta,
    gram_coefficients,
    gram_delta,
    gram_row_width,
    gram_violation,
    initial_gram_rows,
)
from motet.apps.optimisers.proximal import (
    PROXIMAL_ROW_WIDTH,
    extrapolate,
    initial_proximal_rows,
    needs_restart,
    proximal_coefficients,
    proximal_gradient_norm,
    proximal_step,
)
from motet.apps.optimisers.whole_batch import require_whole_batch
from motet.apps.optimisers.working_set import WorkingSets
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument
from motet.runtime.core.application import Batch, Evaluation, ModelTable, Step, Update
from motet.runtime.core.rows import Rows

LassoSolver = Literal["auto", "gram", "active", "fista"]

# Up to this width a Gram matrix takes 32 MB, and a sweep is much cheaper than a pass over the data.
_GRAM_COLUMNS = 2048


@dataclass(frozen=True)
class _TargetUnits:
    """y' = (y - shift) / scale."""

    shift: float
    scale: float


class Lasso(Estimator):
    """Sparse linear regression. Fitted: `coef_: (features,)`, `intercept_`, `l1_`.

    `l1`: the penalty (lambda); None: `l1_ratio_of_max` times the smallest one that makes all
    coefficients 0. `fit_intercept`: false for data that are centred already, or whose line must
    pass through 0. `standardize`: divide columns and target by their standard deviations (without
    an intercept: by their root mean squares); `l1` and the objective are then in those units, while
    `coef_` and `intercept_` are for the data as given. `solver`: gram (a sum of columns x columns,
    then no pass over the data), active (the same for at most 1,024 columns at a time), fista (one
    pass per epoch), or auto: gram up to 2,048 columns, else active if at most 1,024 coefficients
    are expected (as many rows, or `l1` at least a hundredth of the largest), else fista.
    """

    name: ClassVar[str] = "lasso"
    dataset_kind: ClassVar[str] = "labelled"
    estimator_type: ClassVar[EstimatorType | None] = "regressor"
    statistics: tuple[str, ...] = ("restarts",)
    needs_bsp: bool = True
    residual_name: str = RELATIVE_GRADIENT
    default_epochs: ClassVar[int] = 300
    fitted_attribute: ClassVar[str] = "coef_"

    coef_: Array
    intercept_: float
    l1_: float
    _first_norm: float
    _chosen: LassoSolver
    _sets: WorkingSets
    _step_size: float
    _centre: Array
    _coordinates: Coordinates
    _target_units: _TargetUnits
    _target_variance: float

    def __init__(
        self,
        l1: float | None = None,
        l1_ratio_of_max: float = 0.1,
        fit_intercept: bool = True,
        standardize: bool = False,
        solver: LassoSolver = "auto",
        epochs: int = default_epochs,
        tol: float = 1e-6,
        random_state: int | None = 0,
    ) -> None:
        self.l1 = l1
        self.l1_ratio_of_max = l1_ratio_of_max
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.solver = solver
        self.epochs = epochs
        self.tol = tol
        self.random_state = random_state

    # -- data and model ----------------------------------------------------------------------------

    def prepare(self, dataset: LabelledMatrix, seed: int) -> Rows:
        """Rows with features and `target` in trained units."""
        del seed
        self._check_parameters()
        self.learn_features(dataset)
        is_wide = self.n_features_in_ > _GRAM_COLUMNS
        self._chosen = "gram" if self.solver == "auto" and not is_wide else self.solver
        self._require_memory(dataset)
        features = self._trained_features(training_features(dataset))
        target = self._trained_target(varying_target(dataset))
        largest = steepest_slope(features, target)
        self._first_norm = largest or 1.0
        self.l1_ = self.l1_ratio_of_max * largest if self.l1 is None else float(self.l1)
        self._sets = WorkingSets.of(dataset.row_count, self.n_features_in_)
        if self._chosen == "auto":
            fits = self._sets.expect_to_hold(dataset.row_count, self.l1_, largest)
            self._chosen = "active" if fits else "fista"
        if self._chosen == "fista":
            self._step_size = 1 / max(gram_norm(features, with_intercept=False), 1e-300)
        columns = {**feature_columns(features.matrix), "target": target}
        return Rows(np.arange(len(target)), columns)

    def model_table(self) -> ModelTable:
        """One key per coefficient."""
        columns = self.n_features_in_
        if self._chosen != "fista":
            is_gram = self._chosen == "gram"
            width = gram_row_width(columns) if is_gram else self._sets.row_width
            return ModelTable(columns, (width,), np.dtype(np.float64))
        return ModelTable(columns, (PROXIMAL_ROW_WIDTH,), np.dtype(np.float64), delta_shape=())

    def initial_model(self, rows: Rows, seed: int) -> Array:
        """All coefficients 0."""
        del rows, seed
        if self._chosen == "gram":
            return initial_gram_rows(self.n_features_in_)
        if self._chosen == "active":
            return self._sets.initial_rows()
        return initial_proximal_rows(np.zeros(self.n_features_in_))

    def warm_up(self) -> None:
        """Compile coordinate descent."""
        from motet.apps.optimisers.coordinate_descent import descend_coordinates

        descend_coordinates(initial_gram_rows(2), 1.0, 1)

    # -- one step ----------------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """All keys; the features as a matrix."""
        return Batch(rows, extras=self._features_of(rows))

    def reads_model(self, step: Step) -> bool:
        """The Gram matrix, as large as the model, is summed up without its values."""
        return self._chosen != "gram" or step.epoch > 0

    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """The instances' part of the Gram matrix or of the gradient."""
        require_whole_batch(step, self.name)
        features, target = batch.extras, batch.rows["target"]
        if self._chosen != "fista":
            delta_of = gram_delta if self._chosen == "gram" else self._sets.delta
            return Update(delta_of(features, target, model, self.l1_, step), (0.0,))
        restart = needs_restart(model)
        point, _ = extrapolate(model, restart)
        gradient = features.T @ (features @ point - target)
        return Update(gradient, (float(restart * len(target)),))

    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """Step the block's rows."""
        if self._chosen != "fista":
            apply = apply_gram_delta if self._chosen == "gram" else self._sets.apply
            apply(values, delta, step)
            return
        restart = step.statistics[0] > 0
        gradient = delta / step.instances
        proximal_step(values, gradient, restart, self._step_size, self.l1_)

    # -- evaluation --------------------------------------------------------------------------------

    def evaluate(self, rows: Rows, model: Array) -> Array:
        """Sum of squared errors."""
        errors = self._features_of(rows) @ self._weights(model) - rows["target"]
        return np.array([errors @ errors])

    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """objective (the loss), nonzeros, rmse and r2 (of the training data)."""
        weights = self._weights(model)
        mean_square = float(sums[0]) / rows_count
        objective = mean_square / 2 + self.l1_ * float(np.abs(weights).sum())
        metrics = {
            "objective": objective,
            "nonzeros": float(np.count_nonzero(weights)),
            "rmse": float(np.sqrt(mean_square)) * self._target_units.scale,
            "r2": 1 - mean_square / self._target_variance,
        }
        return Evaluation(objective, metrics, self._violation(model) / self._first_norm)

    # -- the fitted estimator ----------------------------------------------------------------------

    def adopt(self, model: Array, rows: Rows) -> None:
        """Set the coefficients for the original data."""
        del rows
        weights, intercept = self._coordinates.original(self._weights(model), np.zeros(()))
        self.coef_ = weights * self._target_units.scale
        self.intercept_ = float(intercept * self._target_units.scale + self._target_units.shift)

    def test_metrics(self, dataset: LabelledMatrix) -> dict[str, float]:
        """test_rmse, test_r2."""
        return regression_test_metrics(self.predict(dataset), dataset.target_numbers())

    def predict(self, X: Any) -> Array:
        """Expected target of every row."""
        return np.asarray(features_for(self, X) @ self.coef_ + self.intercept_)

    def score(self, X: Any, y: Any) -> float:
        """R^2."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X)))

    # -- inside ------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if self.l1 is None:
            self.check_number("l1_ratio_of_max", above=0)
        else:
            self.check_number("l1", at_least=0)
        if self.solver not in get_args(LassoSolver):
            raise BadArgument(f"lasso: solver={self.solver!r} must be auto, gram, active or fista")

    def _require_memory(self, dataset: LabelledMatrix) -> None:
        columns = self.n_features_in_
        needs, mend = {"the features": training_bytes(dataset)}, "use fewer rows or columns"
        if self._chosen == "gram":
            needs["columns x columns"] = float64_bytes(columns, columns, copies=OWN_DELTA_COPIES)
            mend += ", or solver=fista"
        subject = f"lasso: solver={self.solver}, {dataset.row_count:,} rows, {columns:,} columns,"
        require_memory(subject, needs, mend)

    def _trained_features(self, features: Any) -> Centred:
        trained, self._coordinates = trained_features(
            features, bool(self.fit_intercept), bool(self.standardize)
        )
        self._centre = trained.centre
        return trained

    def _trained_target(self, target: Array) -> Array:
        shift = float(target.mean()) if self.fit_intercept else 0.0
        spread = float(np.sqrt(np.mean((target - shift) ** 2))) if self.standardize else 1.0
        self._target_units = _TargetUnits(shift, spread)
        trained = (target - shift) / spread
        self._target_variance = float(np.var(trained))
        return np.asarray(trained)

    def _features_of(self, rows: Rows) -> Centred:
        return Centred(features_of(rows, self.n_features_in_), self._centre)

    def _violation(self, model: Array) -> float:
        if self._chosen == "gram":
            return gram_violation(model, self.l1_)
        if self._chosen == "active":
            return self._sets.violation(model, self.l1_)
        return proximal_gradient_norm(model, self._step_size)

    def _weights(self, model: Array) -> Array:
        if self._chosen == "gram":
            return gram_coefficients(model)
        if self._chosen == "active":
            return self._sets.coefficients(model)
        return proximal_coefficients(model)
