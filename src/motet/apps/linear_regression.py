"""Linear regression: least squares, with an optional l2 penalty (ridge).

Minimises mean (x . w + b - y)^2 / 2 + l2 / 2 * ||w||^2. In scikit-learn:
`LinearRegression` for l2 = 0, else `Ridge(alpha=rows * l2)`. Method: `linear_model.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from motet.apps.estimator import EstimatorType
from motet.apps.inputs.matrix import regression_test_metrics, varying_target
from motet.apps.linear_model import LinearModel, LinearSolver
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array


class LinearRegression(LinearModel):
    """Least squares.

    `l2`: penalty on the weights, not on the intercept. `solver`: newton (few epochs, each with a
    sum of columns x columns), lbfgs (more epochs, each as cheap as a pass over the data), auto
    (newton up to 256 columns). Training ends once the relative gradient norm is at most `tol`.

    Fitted: `coef_: (features,)`, `intercept_`.
    """

    _target_variance: float

    name: ClassVar[str] = "linear_regression"
    estimator_type: ClassVar[EstimatorType | None] = "regressor"

    def __init__(
        self,
        l2: float = 0.0,
        solver: LinearSolver = "auto",
        epochs: int = LinearModel.default_epochs,
        tol: float = 1e-6,
        random_state: int | None = 0,
    ) -> None:
        self.l2 = l2
        self.solver = solver
        self.epochs = epochs
        self.tol = tol
        self.random_state = random_state

    def learn_target(self, dataset: LabelledMatrix) -> Array:
        """The target; it must vary."""
        target = varying_target(dataset)
        self._target_variance = float(np.var(target))
        return target

    def losses(self, predictions: Array, target: Array) -> Array:
        """Half the squared error."""
        return np.asarray((predictions - target) ** 2 / 2)

    def slopes(self, predictions: Array, target: Array) -> Array:
        """The error."""
        return predictions - target

    def curvatures(self, predictions: Array, target: Array) -> Array:
        """1."""
        del target
        return np.ones_like(predictions)

    def tallies(self, predictions: Array, target: Array) -> Array:
        """Return nothing: the root mean squared error follows from the loss."""
        del predictions, target
        return np.empty(0)

    def metrics(self, mean_loss: float, tallies: Array, rows_count: int) -> dict[str, float]:
        """rmse, r2 (of the training data)."""
        del tallies, rows_count
        r2 = 1 - 2 * mean_loss / self._target_variance
        return {"rmse": float(np.sqrt(2 * mean_loss)), "r2": r2}

    def test_metrics(self, dataset: LabelledMatrix) -> dict[str, float]:
        """test_rmse, test_r2."""
        return regression_test_metrics(self.linear_predictions(dataset), dataset.target_numbers())

    def predict(self, X: Any) -> Array:
        """Expected target of every row."""
        return self.linear_predictions(X)

    def score(self, X: Any, y: Any) -> float:
        """R^2."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X)))
