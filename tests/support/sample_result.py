"""A small finished training run, trained in this process."""

from __future__ import annotations

from motet.apps.lasso import Lasso
from motet.datasets import open_dataset
from motet.runtime.core.reporting.reports import Recovery, TrainResult
from motet.runtime.worker.local_training import LocalTraining

EPOCHS = 3


def lasso_result() -> TrainResult:
    """Lasso on diabetes, with one recovery that did not happen."""
    app = Lasso(l1=0.1, standardize=True, solver="fista")
    training = LocalTraining(app, app.prepare(open_dataset("diabetes"), 0), 0)
    reports = tuple(training.epochs(EPOCHS))
    app.adopt(training.model.values, training.final_rows())
    return TrainResult(app, reports, "ab" * 32, 1.5, (Recovery(2, 1, "executor 1 died"),))
