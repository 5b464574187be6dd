"""Metrics of a trained model on the data of `--test`."""

from __future__ import annotations

from motet.apps.estimator import Estimator
from motet.datasets import Dataset
from motet.domain.errors import JobFailed, MotetError
from motet.runtime.executor.application_fault import describe_fault


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
