"""Poisson regression: counts whose logarithm is linear in the features."""

import numpy as np

from motet.apps.estimator import Estimator
from motet.apps.inputs.coordinates import feature_columns, features_of
from motet.domain.errors import BadInput
from motet.runtime.core.application import Evaluation, ModelTable, Update
from motet.runtime.core.rows import Rows


class PoissonRegression(Estimator):
    """Minimises mean(rate - count log rate) + l2 / 2 |w|^2 with log rate = (x, 1) . w."""

    name = "poisson_regression"
    dataset_kind = "labelled"
    estimator_type = "regressor"

    def __init__(self, l2=1e-3, learning_rate=0.1, batch_size=100, epochs=20, random_state=0):
        self.l2 = l2
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.random_state = random_state

    def prepare(self, dataset, seed):
        counts = dataset.require_target()
        if counts.min() < 0:
            raise BadInput(f"{dataset.source}: count {counts.min():g}; counts are at least 0")
        self.width_ = dataset.feature_count + 1
        return Rows(np.arange(len(counts)), {**feature_columns(dataset.features), "counts": counts})

    def model_table(self):
        return ModelTable(key_count=self.width_, value_shape=(), dtype=np.dtype(np.float64))

    def initial_model(self, rows, seed):
        return np.zeros(self.width_)

    def compute(self, batch, model, step):
        features = features_of(batch.rows, self.width_ - 1)
        errors = np.exp(features @ model[:-1] + model[-1]) - batch.rows["counts"]
        return Update(np.append(features.T @ errors, errors.sum()))

    def apply(self, values, delta, step):
        gradient = delta / step.instances + step.share * self.l2 * values
        values -= self.learning_rate / (1 + step.epoch) * gradient

    def evaluate(self, rows, model):
        scores = features_of(rows, self.width_ - 1) @ model[:-1] + model[-1]
        return np.array([np.sum(np.exp(scores) - rows["counts"] * scores)])

    def summarise(self, model, sums, rows_count):
        return Evaluation(loss=sums[0] / rows_count + self.l2 / 2 * model @ model)

    def adopt(self, model, rows):
        self.coef_ = model.copy()

    def predict(self, X):
        return np.exp(X @ self.coef_[:-1] + self.coef_[-1])
