"""The base class of two-class linear models: classes, signs, decisions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from motet.apps.estimator import EstimatorType
from motet.apps.inputs.class_labels import accuracy, class_numbers, learn_classes
from motet.apps.linear_model import LinearModel
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument
from motet.runtime.core.rows import Rows


class BinaryClassifier(LinearModel):
    """A linear model whose target is -1 for `classes_[0]` and +1 for `classes_[1]`."""

    estimator_type: ClassVar[EstimatorType | None] = "classifier"

    classes_: Array

    def learn_target(self, dataset: LabelledMatrix) -> Array:
        """-1 or +1; raises BadInput unless there are exactly two classes."""
        self.classes_, numbers = learn_classes(dataset)
        if len(self.classes_) != 2:
            raise BadArgument(
                f"{dataset.source_of_target}: {len(self.classes_)} classes; "
                f"{self.name} separates two. Use mlr for more"
            )
        return _signs(numbers)

    def known_target(self, dataset: LabelledMatrix) -> Array:
        """-1 or +1 by the classes of training."""
        return _signs(class_numbers(dataset, self.classes_))

    def tallies(self, predictions: Array, target: Array) -> Array:
        """Number of correctly classified instances."""
        return np.array([np.count_nonzero((predictions > 0) == (target > 0))], dtype=np.float64)

    def adopt(self, model: Array, rows: Rows) -> None:
        """Set `coef_: (1, features)` and `intercept_: (1,)`, the shapes of scikit-learn."""
        super().adopt(model, rows)
        self.coef_, self.intercept_ = self.coef_.reshape(1, -1), np.reshape(self.intercept_, 1)

    def decision_function(self, X: Any) -> Array:
        """x . w + b, `(rows,)`: positive for `classes_[1]`."""
        return self.linear_predictions(X)

    def predict(self, X: Any) -> Array:
        """The class of every row."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(np.int64)])

    def score(self, X: Any, y: Any) -> float:
        """Accuracy."""
        return accuracy(self.classes_, self.predict(X), y)


def _signs(numbers: Array) -> Array:
    return 2.0 * numbers - 1.0
