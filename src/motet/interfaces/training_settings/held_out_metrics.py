"""Metrics of a trained model on the data of `--test`, and their check before the training."""

from __future__ import annotations

import copy

import numpy as np

from motet.apps.estimator import Estimator
from motet.datasets import Dataset
from motet.datasets.kinds import LabelledMatrix
from motet.domain.errors import BadInput, JobFailed, MotetError
from motet.runtime.core.rows import Rows
from motet.runtime.core.table_spec import first_model
from motet.runtime.executor.application_fault import describe_fault

_REHEARSED_ROWS = 5


def held_out_metrics(
    app: Estimator, test: Dataset | None, *, may_resume: bool = False
) -> dict[str, float]:
    """Of `test`, if there is one. Raises JobFailed for an error in the application.

    `may_resume`: whether `--resume` repeats this with the trained model.
    """
    if test is None:
        return {}
    try:
        return app.test_metrics(test)
    except MotetError:
        raise
    except Exception as error:
        hint = "; correct it and give --resume: no epoch is trained again" if may_resume else ""
        raise JobFailed(
            f"after the training, on the data of --test: {describe_fault(error, app)}{hint}"
        ) from error


def rehearse_held_out_metrics(app: Estimator, test: Dataset | None, rows: Rows, seed: int) -> None:
    """Raise BadInput if `predict` or `score` return what no metric can be computed from.

    A copy of the application with the first values of the model, before any mini-batch, predicts
    a few rows of `test`. `app` has prepared `rows`, the training data.
    """
    uses_predictions = type(app).test_metrics is Estimator.test_metrics
    if not (uses_predictions and isinstance(test, LabelledMatrix)):
        return
    few = test.rows(np.arange(min(_REHEARSED_ROWS, len(test.require_target()))))
    try:
        untrained = copy.deepcopy(app)
        # Warnings pass: their filters belong to all threads, and other jobs may train on these.
        with np.errstate(all="ignore"):
            untrained.become_fitted(first_model(app, rows, seed), rows)
            untrained.test_metrics(few)
    except BadInput:
        raise
    except Exception:
        # A model of zeros may have no predictions (a singular matrix), and an application no copy:
        # the model of the training decides, and `held_out_metrics` tells its errors.
        return
