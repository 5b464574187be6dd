"""Every application learns the same model whoever computes what of a mini-batch."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from held_back import Gate, Ledger, cluster_with, held_back
from in_process_cluster import InProcessCluster
from motet.apps.lasso import Lasso
from motet.apps.lda import LDA
from motet.apps.mlr import MLR
from motet.apps.nmf import NMF
from motet.datasets.builtin.toys import load_diabetes, load_digits
from motet.datasets.kinds import LabelledMatrix
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Application
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from small_data import corpus, ratings
from soak_cases import others_in_soak

MACHINES, LATE = 4, 1


def sparse() -> Any:
    from scipy.sparse import random as random_sparse

    rng = np.random.default_rng(0)
    features = random_sparse(300, 5_000, density=0.004, format="csr", rng=rng)
    return LabelledMatrix(features, rng.integers(0, 3, 300).astype(float), source="wide")


CASES: dict[str, tuple[Application, Any, int]] = {
    "nmf": (NMF(rank=4, batch_size=50), ratings, 3),
    "mlr, lbfgs": (MLR(solver="lbfgs", l2=1e-3), load_digits, 12),
    "mlr, saga, dense": (MLR(solver="saga", l2=1e-3, batch_size=600), load_digits, 3),
    "mlr, saga, sparse": (MLR(solver="saga", l2=1e-3, batch_size=100), sparse, 6),
    "lda": (LDA(topics=5, batch_size=60), corpus, 4),
    "lasso, fista": (Lasso(solver="fista", standardize=True), load_diabetes, 12),
    "lasso, gram": (Lasso(solver="gram", standardize=True), load_diabetes, 6),
    "lasso, active": (Lasso(solver="active", standardize=True), load_diabetes, 6),
}


def train(app: Application, dataset: Any, epochs: int, gate: Gate | None = None) -> TrainResult:
    cluster = InProcessCluster(MACHINES) if gate is None else cluster_with(gate, MACHINES)
    options = TrainOptions(
        machines=MACHINES,
        workers=3,
        servers=2,
        epochs=epochs,
        stragglers="ignore" if gate is None else "help",
    )
    return Job(app, app.prepare(dataset, 0), options, cluster).run()


@pytest.mark.parametrize("case", others_in_soak(CASES, {"nmf", "mlr, lbfgs", "lda"}))
def test_instances_that_others_compute_leave_the_model_as_it_is(case: str) -> None:
    app, load, epochs = CASES[case]
    gate, ledger = Gate(LATE), Ledger()
    alone = train(copy.deepcopy(app), load(), epochs)
    helped = train(held_back(app, gate, ledger), load(), epochs, gate)
    of_late, of_all = ledger.by_thread[f"executor-{LATE}"], sum(ledger.by_thread.values())
    # How much they take depends on how busy this machine is.
    assert of_late < 0.32 * of_all, "a third is what it has"
    told = [each for report in helped.epochs for each in report.help]
    assert sum(each.instances for each in told if each.helped == LATE) > 0
    assert all(each.helper != each.helped and each.batches > 0 for each in told)
    assert not any(report.help for report in alone.epochs)
    np.testing.assert_allclose(helped.losses, alone.losses, rtol=1e-6)
    for name, value in alone.app.get_state().items():
        if value.dtype.kind == "f":
            other, scale = helped.app.get_state()[name], float(np.abs(value).max())
            np.testing.assert_allclose(other, value, rtol=1e-6, atol=1e-6 * scale, err_msg=name)
    if case == "lda":
        assert helped.model_sha256 == alone.model_sha256
