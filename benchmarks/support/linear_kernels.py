"""Kernel speed of MLR and Lasso beside SciPy and scikit-learn: CPU-seconds of one thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import softmax
from sklearn.linear_model import Lasso as LassoPeer
from threadpoolctl import threadpool_limits

from motet.apps.lasso import Lasso
from motet.apps.mlr import MLR
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.runtime.core.application import Step
from motet.runtime.core.rows import Rows
from motet.runtime.worker.local_training import LocalTraining
from support.figures import Figure
from support.side_by_side import cpu_s, interleaved_medians, real_or_generated


def linear_figures(quick: bool = False) -> list[Figure]:
    """MLR on sparse mini-batches (2 and 10 classes), Lasso at an equal objective gap."""
    repetitions = 5 if quick else 15
    with threadpool_limits(1):
        return [
            *(_mlr_figure(classes, repetitions) for classes in (2, 10)),
            *(_lasso_figure(ratio, repetitions) for ratio in (0.1, 0.01)),
        ]


# -- MLR: an epoch of COMP on the same mini-batches ------------------------------------------------


def _mlr_figure(classes: int, repetitions: int) -> Figure:
    data = _sparse_like_a9a(classes)
    own, peer = interleaved_medians(
        [partial(cpu_s, _motet_epoch(data)), partial(cpu_s, _scipy_epoch(data, classes))],
        repetitions,
    )
    return Figure(
        name=f"MLR, sparse mini-batches of 100, {classes} classes",
        measured=f"{data.row_count / own / 1e6:.1f}M rows/s",
        peer=f"{data.row_count / peer / 1e6:.1f}M scipy",
        ratio=peer / own,
        target=2.0,
    )


def _motet_epoch(data: LabelledMatrix) -> Callable[[], None]:
    """COMP of every mini-batch, with a model that has been trained for an epoch."""
    app = MLR(solver="saga")
    rows = app.prepare(data, 0)
    training = LocalTraining(app, rows, 0)
    next(training.epochs(1))
    batches = [app.make_batch(part) for part in _hundreds(training.final_rows())]
    step = Step(1, 0, len(batches), 0, 100, len(rows), 0)

    def epoch() -> None:
        for batch in batches:
            app.compute(batch, training.model.values, step)

    return epoch


def _scipy_epoch(data: LabelledMatrix, classes: int) -> Callable[[], None]:
    """The gradient of every mini-batch; rows are cut and encoded before the clock starts."""
    onehot = np.eye(classes)[data.require_target().astype(int)]
    bounds = range(0, data.row_count, 100)
    batches = [(data.features[low : low + 100], onehot[low : low + 100]) for low in bounds]
    weights, bias = np.zeros((data.feature_count, classes)), np.zeros(classes)

    def epoch() -> None:
        for features, wanted in batches:
            residual = softmax(features @ weights + bias, axis=1) - wanted
            _ = features.T @ residual, residual.sum(axis=0)

    return epoch


def _hundreds(rows: Rows) -> list[Rows]:
    return [rows.slice(low, min(low + 100, len(rows))) for low in range(0, len(rows), 100)]


def _sparse_like_a9a(classes: int) -> LabelledMatrix:
    """32,560 rows, 123 binary columns, 14 of them set in every row: the shape of a9a."""
    rng = np.random.default_rng(0)
    rows, columns, per_row = 32_560, 123, 14
    popularity = np.linspace(1, 10, columns)
    indices = np.argsort(rng.exponential(size=(rows, columns)) / popularity, axis=1)[:, :per_row]
    indices = np.sort(indices, axis=1).astype(np.int32)
    offsets = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    features = csr_matrix((np.ones(rows * per_row), indices.ravel(), offsets), (rows, columns))
    scores = features @ rng.normal(size=(columns, classes)) + rng.gumbel(size=(rows, classes))
    return LabelledMatrix(features, scores.argmax(axis=1).astype(float), source="like a9a")


# -- Lasso: a whole fit, both to a relative gap of 1e-9 -------------------------------------------


def _lasso_figure(ratio: float, repetitions: int) -> Figure:
    X, y, source = _communities()
    l1 = ratio * float(np.abs(X.T @ y).max()) / len(y)
    Lasso().warm_up()
    mine = Lasso(l1=l1, tol=1e-9)
    theirs = LassoPeer(alpha=l1, fit_intercept=False, tol=1e-5, max_iter=100_000)
    fits = [partial(cpu_s, partial(app.fit, X, y)) for app in (mine, theirs)]
    own, peer = interleaved_medians(fits, repetitions)
    return Figure(
        name=f"Lasso, {source}, l1 = {ratio:g} of its maximum",
        measured=f"{own * 1e3:.1f} ms",
        peer=f"{peer * 1e3:.1f} ms sklearn",
        ratio=own / peer,
        target=2.0,
        at_least=False,
    )


def _communities() -> tuple[Array, Array, str]:
    """Predictors and target, standardised: the real data, or generated ones of their shape."""
    path, is_real = real_or_generated("communities/communities.data.gz", "")
    if not is_real:
        return *_correlated_like_communities(), "like communities"
    table = np.genfromtxt(path, delimiter=",", missing_values="?", dtype=float)[:, 5:]
    table = table[:, ~np.isnan(table).any(axis=0)]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy(), "communities"


def _correlated_like_communities() -> tuple[Array, Array]:
    """1,994 rows, 100 columns that share a few causes, standardised: the shape of communities."""
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(1994, 12))
    X = causes @ rng.normal(size=(12, 100)) + 1.5 * rng.normal(size=(1994, 100))
    y = causes @ rng.normal(size=12) + 2.0 * rng.normal(size=1994)
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
