"""References for the demo: the same models trained on a single machine."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from motet.interfaces.cli.demo.jobs import PreparedJob
from motet.report.training.document import TrainDocument
from motet.runtime.worker.local_training import LocalTraining

FRESH_DOCUMENTS = 10


@dataclass(frozen=True)
class Comparison:
    """One measure of a job and of a single-machine library on the same data.

    `loss`: the library's value of the job's own loss, where the two are comparable.
    """

    measure: str
    motet: float
    reference: float
    reference_name: str
    reference_s: float
    loss: float | None = None

    @property
    def difference(self) -> float:
        """Relative to the reference."""
        return (self.motet - self.reference) / abs(self.reference)


def compare_with_reference(done: PreparedJob, document: TrainDocument) -> Comparison:
    """Train the reference of a job in this process and compare the results."""
    began_s = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure, reference, name, loss = _REFERENCES[done.job.app](done)
    seconds = time.perf_counter() - began_s
    key, label = measure
    return Comparison(label, document.metrics[key], reference, name, seconds, loss)


Reference = tuple[tuple[str, str], float, str, float | None]
"""(metric in the job's document, its displayed name), reference value, library, its loss."""


def _logistic_regression(done: PreparedJob) -> Reference:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    train: Any = done.dataset
    test: Any = done.test
    l2 = done.app.get_params()["l2"]
    model = LogisticRegression(C=1 / (l2 * len(train.target)), max_iter=500)
    model.fit(train.features, train.target)
    loss = log_loss(train.target, model.predict_proba(train.features))
    objective = float(loss + l2 / 2 * np.sum(model.coef_**2))
    accuracy = float(model.score(test.features, test.target))
    return ("test_accuracy", "accuracy"), accuracy, "scikit-learn", objective


def _nmf(done: PreparedJob) -> Reference:
    from sklearn.decomposition import NMF

    dataset: Any = done.dataset
    pixels = dataset.values.reshape(dataset.shape)
    rank = done.app.get_params()["rank"]
    model = NMF(n_components=rank, init="nndsvda", random_state=0)
    users = model.fit_transform(pixels)
    rmse = float(np.sqrt(np.mean((pixels - users @ model.components_) ** 2)))
    return ("train_rmse", "RMSE"), rmse, "scikit-learn", rmse


def _lasso(done: PreparedJob) -> Reference:
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import scale

    dataset: Any = done.dataset
    features, target = scale(dataset.features), scale(dataset.target)
    l1 = float(np.asarray(done.app.get_state()["l1_"]))
    model = Lasso(alpha=l1, fit_intercept=False, tol=1e-10, max_iter=100_000)
    model.fit(features, target)
    errors = target - features @ model.coef_
    objective = float(errors @ errors / (2 * len(target)) + l1 * np.abs(model.coef_).sum())
    return ("objective", "objective"), objective, "scikit-learn", objective


def _lda(done: PreparedJob) -> Reference:
    """The same sampler in one process, with counts updated after every FRESH_DOCUMENTS."""
    app = type(done.app)(**{**done.app.get_params(), "batch_size": FRESH_DOCUMENTS})
    seed = done.job.options.seed
    training = LocalTraining(app, app.prepare(done.dataset, seed), seed)
    *_, last = training.epochs(done.job.epochs)
    likelihood = last.metrics["log_likelihood_per_token"]
    name = "log p/token"
    return ("log_likelihood_per_token", name), likelihood, "one process", last.loss


_REFERENCES: dict[str, Callable[[PreparedJob], Reference]] = {
    "mlr": _logistic_regression,
    "nmf": _nmf,
    "lasso": _lasso,
    "lda": _lda,
}
