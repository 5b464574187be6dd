"""Logistic regression with two classes and an l2 penalty.

Minimises mean log(1 + exp(-y (x . w + b))) + l2 / 2 * ||w||^2, y = -1 or +1. In
scikit-learn: `LogisticRegression(C=1 / (rows * l2))`. Method: `linear_model.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from motet.apps.binary_classifier import BinaryClassifier
from motet.apps.linear_model import LinearModel, LinearSolver
from motet.domain.arrays import Array


class LogisticRegression(BinaryClassifier):
    """Classifier for two classes.

    `l2`: penalty on the weights, not on the intercept. `solver`: newton (few epochs, each with a
    sum of columns x columns), lbfgs (more epochs, each as cheap as a pass over the data), auto
    (newton up to 256 columns). Training ends once the relative gradient norm is at most `tol`.

    Fitted: `coef_: (1, features)`, `intercept_: (1,)`, `classes_`.
    """

    name: ClassVar[str] = "logistic_regression"

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
        """Log-loss."""
        return np.asarray(np.logaddexp(0.0, -target * predictions))

    def slopes(self, predictions: Array, target: Array) -> Array:
        """-y times the probability of the other class."""
        from scipy.special import expit

        return np.asarray(-target * expit(-target * predictions))

    def curvatures(self, predictions: Array, target: Array) -> Array:
        """Probability of the one class times that of the other."""
        from scipy.special import expit

        del target
        return np.asarray(expit(predictions) * expit(-predictions))

    def metrics(self, mean_loss: float, tallies: Array, rows_count: int) -> dict[str, float]:
        """log_loss, accuracy."""
        return {"log_loss": mean_loss, "accuracy": float(tallies[0]) / rows_count}

    def predict_proba(self, X: Any) -> Array:
        """Probabilities, `(rows, 2)`, in the order of `classes_`."""
        from scipy.special import expit

        scores = self.decision_function(X)
        return np.stack([expit(-scores), expit(scores)], axis=1)
