"""References for the demo: the same model alone, and models of scikit-learn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from motet.interfaces.cli.demo.training.alone import train_alone
from motet.interfaces.cli.demo.training.preparation import PreparedJob
from motet.report.training.document import TrainDocument


@dataclass(frozen=True)
class Comparison:
    """One measure of a job, of the same model trained alone, and of a library on the same data.

    `alone_s`: time of the epochs alone. `reference`, `reference_s`, `loss`: None without a library;
    `loss` is the library's value of the job's own loss.
    """

    measure: str
    motet: float
    alone: float
    alone_s: float
    reference: float | None = None
    reference_s: float | None = None
    loss: float | None = None


class LibraryResult(NamedTuple):
    """The library's value of the measure, and of the job's loss."""

    value: float
    loss: float


MEASURES = {
    "mlr": ("test_accuracy", "accuracy"),
    "nmf": ("train_rmse", "RMSE"),
    "lasso": ("objective", "objective"),
    "lda": ("log_likelihood_per_token", "log p/token"),
}
"""By application: the metric in its document, and the displayed name."""


def compare_with_references(done: PreparedJob, document: TrainDocument) -> Comparison:
    """Train the model of a job alone and by a library, in this process."""
    key, label = MEASURES[done.job.app]
    alone = train_alone(done)
    comparison = Comparison(label, document.metrics[key], alone.metrics[key], alone.epochs_s)
    if done.job.app not in _REFERENCES:
        return comparison
    began_s = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, loss = _REFERENCES[done.job.app](done)
    took_s = time.perf_counter() - began_s
    return replace(comparison, reference=value, reference_s=took_s, loss=loss)


def import_library() -> None:
    """Import what the references need, which takes longer than most of them."""
    for module in ("decomposition", "linear_model", "metrics", "preprocessing"):
        import_module(f"sklearn.{module}")


def _logistic_regression(done: PreparedJob) -> LibraryResult:
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
    return LibraryResult(accuracy, objective)


def _nmf(done: PreparedJob) -> LibraryResult:
    from sklearn.decomposition import NMF

    dataset: Any = done.dataset
    pixels = dataset.values.reshape(dataset.shape)
    rank = done.app.get_params()["rank"]
    model = NMF(n_components=rank, init="nndsvda", random_state=0)
    users = model.fit_transform(pixels)
    rmse = float(np.sqrt(np.mean((pixels - users @ model.components_) ** 2)))
    return LibraryResult(rmse, rmse)


def _lasso(done: PreparedJob) -> LibraryResult:
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import scale

    dataset: Any = done.dataset
    features, target = scale(dataset.features), scale(dataset.target)
    l1 = float(np.asarray(done.app.get_state()["l1_"]))
    model = Lasso(alpha=l1, fit_intercept=False, tol=1e-10, max_iter=100_000)
    model.fit(features, target)
    errors = target - features @ model.coef_
    objective = float(errors @ errors / (2 * len(target)) + l1 * np.abs(model.coef_).sum())
    return LibraryResult(objective, objective)


_REFERENCES: dict[str, Callable[[PreparedJob], LibraryResult]] = {
    "mlr": _logistic_regression,
    "nmf": _nmf,
    "lasso": _lasso,
}
"""None for LDA: the bound of scikit-learn's variational inference is not comparable."""
