"""Linear support vector machine with two classes: squared hinge loss and an l2 penalty.

Minimises mean max(0, 1 - y (x . w + b))^2 + l2 / 2 * ||w||^2, y = -1 or +1. In
scikit-learn: `LinearSVC(C=1 / (rows * l2))`, loss "squared_hinge", but without its penalty on the
intercept. Method: `linear_model.py`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from motet.apps.binary_classifier import BinaryClassifier
from motet.apps.linear_model import LinearModel, LinearSolver
from motet.domain.arrays import Array


class LinearSVM(BinaryClassifier):
    """Classifier for two classes.

    `l2`: penalty on the weights, not on the intercept. `solver`: newton (few epochs, each with a
    sum of columns x columns), lbfgs (more epochs, each as cheap as a pass over the data), auto
    (newton up to 256 columns). Training ends once the relative gradient norm is at most `tol`.

    Fitted: `coef_: (1, features)`, `intercept_: (1,)`, `classes_`.
    """

    name: ClassVar[str] = "linear_svm"

    def __init__(
        self,
        l2: float = 1e-4,
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

    def losses(self, predictions: Array, target: Array) -> Array:
        """Squared hinge."""
        return _shortfalls(predictions, target) ** 2

    def slopes(self, predictions: Array, target: Array) -> Array:
        """-2 y times the shortfall of the margin from 1."""
        return np.asarray(-2 * target * _shortfalls(predictions, target))

    def curvatures(self, predictions: Array, target: Array) -> Array:
        """2 if the margin is below 1 (a generalised Hessian, Mangasarian 2002)."""
        return 2.0 * (target * predictions < 1)

    def metrics(self, mean_loss: float, tallies: Array, rows_count: int) -> dict[str, float]:
        """squared_hinge, accuracy."""
        return {"squared_hinge": mean_loss, "accuracy": float(tallies[0]) / rows_count}


def _shortfalls(predictions: Array, target: Array) -> Array:
    return np.asarray(np.maximum(1 - target * predictions, 0.0))
