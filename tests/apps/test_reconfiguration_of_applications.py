"""Every application learns the same model however it is reconfigured while it trains."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from motet.apps.lasso import Lasso
from motet.apps.lda import LDA
from motet.apps.mlr import MLR
from motet.apps.nmf import NMF
from motet.datasets.builtin.toys import load_diabetes, load_digits
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Application
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import TrainResult
from restless import Restless
from small_data import corpus, ratings

MACHINES = 5
PLANS = 10
EPOCHS = 50


def train(app: Application, dataset: Any, epochs: int, seed: int | None = None) -> TrainResult:
    """`seed`: of the reconfigurations; None: there are none."""
    app = copy.deepcopy(app)
    options = TrainOptions(machines=MACHINES, workers=2, servers=2, epochs=epochs)
    restless = TrainObserver() if seed is None else Restless(seed, MACHINES, PLANS)
    job = Job(app, app.prepare(dataset, 0), options, InProcessCluster(MACHINES), restless)
    if isinstance(restless, Restless):
        restless.job = job
    return job.run()


CASES: dict[str, tuple[Application, Callable[[], Any], int]] = {
    "nmf": (NMF(rank=4, batch_size=60), ratings, EPOCHS),
    "mlr, lbfgs": (MLR(solver="lbfgs", l2=1e-3), load_digits, EPOCHS),
    "mlr, saga": (MLR(solver="saga", l2=1e-3, batch_size=600), load_digits, EPOCHS),
    "lda": (LDA(topics=5), corpus, EPOCHS),
    "lasso": (Lasso(solver="fista", standardize=True), load_diabetes, EPOCHS),
}

OFTEN = {"mlr, saga"}
"""`make test` runs this one; all others run the same code of the runtime in `make soak`."""


@pytest.mark.parametrize("seed", [0, *(pytest.param(it, marks=pytest.mark.soak) for it in (1, 2))])
@pytest.mark.parametrize(
    "case",
    [pytest.param(it, marks=() if it in OFTEN else pytest.mark.soak) for it in CASES],
)
def test_random_reconfigurations_leave_the_model_as_it_is(case: str, seed: int) -> None:
    app, load, epochs = CASES[case]
    still = train(app, load(), epochs)
    moved = train(app, load(), epochs, seed)
    finished = [report for report in moved.reconfigurations if not report.error]
    assert len(finished) == len(moved.reconfigurations) == PLANS
    np.testing.assert_allclose(moved.losses, still.losses, rtol=1e-6)
    for name, value in still.app.get_state().items():
        if value.dtype.kind == "f":
            scale = float(np.abs(value).max())
            other = moved.app.get_state()[name]
            np.testing.assert_allclose(other, value, rtol=1e-6, atol=1e-6 * scale, err_msg=name)
    if case == "lda":
        assert moved.model_sha256 == still.model_sha256
