"""The example of docs/applications.md works as the page says: as an estimator and as a job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor

from marked_process import run_motet
from motet.apps import load_application
from motet.apps.inputs.arrays import labelled_of
from motet.domain.errors import BadInput
from placement import assert_placement_independent

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "poisson_regression.py"
PAGE = REPOSITORY / "docs" / "applications.md"


@pytest.fixture(scope="module")
def poisson_regression() -> Any:
    return load_application(str(EXAMPLE))


def visits(rows: int = 2_000) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, rng.poisson(np.exp(X @ [0.5, -0.3, 0.2] + 1.0))


def test_the_example_fits_on_one_page_and_the_page_shows_it_whole() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 60
    assert "literalinclude} ../examples/poisson_regression.py" in PAGE.read_text()


def test_the_example_names_no_machine_thread_or_network() -> None:
    imported = [line for line in EXAMPLE.read_text().splitlines() if "import" in line]
    assert not [line for line in imported if "ray" in line or "socket" in line or "thread" in line]


def test_the_example_agrees_with_scikit_learn(poisson_regression: Any) -> None:
    X, y = visits()
    model = poisson_regression(l2=1e-3).fit(X, y)
    peer = PoissonRegressor(alpha=1e-3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, [*peer.coef_, peer.intercept_], atol=0.02)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=0.1)


def test_the_example_does_not_depend_on_workers_and_servers(poisson_regression: Any) -> None:
    assert_placement_independent(poisson_regression(), labelled_of(*visits(500)), epochs=5)


def test_the_example_is_an_estimator(poisson_regression: Any, tmp_path: Path) -> None:
    X, y = visits(200)
    model = clone(poisson_regression(l2=0.1, epochs=2)).fit(X, y)
    model.save(tmp_path / "model.npz")
    loaded = poisson_regression.load(tmp_path / "model.npz")
    assert repr(loaded) == "PoissonRegression(l2=0.1, epochs=2)"
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_the_example_refuses_negative_counts(poisson_regression: Any) -> None:
    with pytest.raises(BadInput, match="X: count -1; counts are at least 0"):
        poisson_regression().fit([[0.0], [1.0]], [-1, 2])


@pytest.mark.cluster
def test_the_example_trains_on_a_cluster_by_its_file_name(tmp_path: Path) -> None:
    X, y = visits()
    header = "age,distance,price,visits"
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "visits.csv", table, delimiter=",", header=header, comments="")
    ended = run_motet(
        *("train", EXAMPLE, "--data", tmp_path / "visits.csv", "--target", "visits"),
        *("--machines", "2", "--workers", "2", "--servers", "1", "--epochs", "3", "--json", "-q"),
    )
    alone = load_application(str(EXAMPLE))(epochs=3, random_state=0).fit(X, y)

    assert (ended.code, ended.left_running) == (0, {})
    assert json.loads(ended.out)["final_loss"] == pytest.approx(alone.loss_curve_[-1], rel=1e-6)
