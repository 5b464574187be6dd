"""What cannot fit into memory is refused in words, before anything large is allocated."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from marked_process import run_motet
from motet.apps.estimator import Estimator
from motet.apps.inputs.memory import (
    FEATURE_COPIES,
    MODEL_COPIES,
    OWN_DELTA_COPIES,
    ROW_COPIES,
    float64_bytes,
    free_memory_bytes,
    require_memory,
)
from motet.apps.kmeans import KMeans
from motet.apps.lasso import Lasso
from motet.apps.lda import LDA
from motet.apps.linear_regression import LinearRegression
from motet.apps.mlr import MLR
from motet.apps.nmf import NMF
from motet.domain.errors import BadInput

NUMBERS = np.arange(4_000.0)


def wide(rows: int = 4_000, columns: int = 20_000_000) -> csr_matrix:
    """One entry per row, in columns far apart: small, but not its model."""
    places = np.linspace(0, columns - 1, rows).astype(np.int32)
    return csr_matrix((np.ones(rows), places, np.arange(rows + 1)), (rows, columns))


TOO_LARGE: dict[str, tuple[Estimator, Any, Any, str]] = {
    "nmf": (NMF(rank=10**9), np.eye(4), None, "nmf: rank=1000000000 needs .* lower rank$"),
    "nmf beyond 64 bits": (NMF(rank=10**20), np.eye(4), None, "lower rank$"),
    "lda": (LDA(topics=10**9), np.eye(4), None, "lda: topics=1000000000 needs .* lower topics$"),
    "kmeans": (
        KMeans(n_clusters=150_000),
        np.arange(200_000.0)[:, None],
        None,
        "kmeans: n_clusters=150000 needs .* lower n_clusters$",
    ),
    "mlr": (MLR(), wide(), NUMBERS // 2, "mlr: X: a target of 2,000 classes needs .* classes$"),
    "lasso": (Lasso(solver="gram"), wide(), NUMBERS, "lasso: solver=gram.* or solver=fista$"),
    "linear_regression": (
        LinearRegression(solver="newton"),
        wide(),
        NUMBERS,
        "linear_regression: solver=newton.* or solver=lbfgs$",
    ),
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_an_oversized_model_is_refused_before_it_is_allocated(case: str) -> None:
    app, X, y, message = TOO_LARGE[case]
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match=message) as caught:
            app.fit(X, y)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 50e6
    assert " is free; " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_message_has_every_part_and_what_is_free() -> None:
    needs = {"users": 3 * 10**9, "items": 5 * 10**8}
    with pytest.raises(BadInput) as caught:
        require_memory("nmf: rank=9", needs, "lower rank", free_bytes=2 * 10**9)
    assert str(caught.value) == (
        "nmf: rank=9 needs about 3.5 GB of memory (3.0 GB for users, 500.0 MB for items), "
        "2.0 GB is free; lower rank"
    )
    require_memory("nmf: rank=9", needs, "lower rank", free_bytes=4 * 10**9)


def test_free_memory_is_part_of_the_machines() -> None:
    import psutil

    assert 0 < free_memory_bytes() <= psutil.virtual_memory().total


FITS: dict[str, tuple[Estimator, Any, Any, int]] = {
    "nmf, many users": (
        NMF(rank=300),
        np.ones((1500, 3)),
        None,
        float64_bytes(1500, 300, copies=ROW_COPIES),
    ),
    "nmf, many items": (
        NMF(rank=300),
        np.ones((3, 1500)),
        None,
        float64_bytes(1500, 300, copies=MODEL_COPIES),
    ),
    "lda": (
        LDA(topics=300),
        np.ones((3, 9000)),
        None,
        float64_bytes(9001, 300, copies=MODEL_COPIES) // 2,
    ),
    "kmeans": (
        KMeans(n_clusters=300),
        np.arange(4_000.0)[:, None],
        None,
        float64_bytes(4_000, 300, copies=2),
    ),
    "lasso": (
        Lasso(solver="gram"),
        np.random.default_rng(0).normal(size=(20, 700)),
        np.arange(20.0),
        float64_bytes(700, 700, copies=OWN_DELTA_COPIES),
    ),
    "linear_regression": (
        LinearRegression(solver="newton"),
        np.random.default_rng(0).normal(size=(20, 700)),
        np.arange(20.0),
        float64_bytes(700, 700, copies=MODEL_COPIES),
    ),
    "features": (
        LinearRegression(),
        np.random.default_rng(0).normal(size=(10_000, 50)),
        np.arange(10_000.0),
        float64_bytes(10_000, 50, copies=FEATURE_COPIES),
    ),
}


@pytest.mark.parametrize("case", FITS)
def test_the_estimate_is_near_what_training_takes(case: str) -> None:
    app, X, y, estimate_bytes = FITS[case]
    app.set_params(epochs=1)
    app.fit(X, y)  # Imports and compiled loops are not counted.
    tracemalloc.start()
    app.fit(X, y)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 < estimate_bytes / peak_bytes < 1.3


@pytest.mark.soak
def test_the_command_line_refuses_an_oversized_rank(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t1\t3\t0\n1\t2\t4\t0\n2\t1\t5\t0\n")
    ended = run_motet("train", "nmf", "--data", tmp_path / "u.data", "--set", "rank=10000000000")
    assert (ended.code, ended.left_running) == (2, {})
    assert "nmf: rank=10000000000 needs about" in ended.err
    assert "lower rank" in ended.err
