"""An application of your own, as docs/applications.md shows one: sparse data, saved models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

import motet
from marked_process import run_motet
from motet.apps import load_application, load_model
from motet.apps.estimator import Estimator
from motet.apps.inputs.arrays import as_dataset
from motet.datasets import open_dataset
from motet.domain.errors import BadInput, JobFailed
from motet.interfaces.training_arguments import epochs_of
from motet.interfaces.training_settings.settings import default_epochs
from placement import assert_placement_independent

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "poisson_regression.py"


@pytest.fixture(scope="module")
def poisson_regression() -> Any:
    return load_application(str(EXAMPLE))


def sparse_visits(rows: int = 400) -> tuple[csr_matrix, NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4)) * (rng.random((rows, 4)) < 0.3)
    return csr_matrix(X), rng.poisson(np.exp(X @ [0.5, -0.3, 0.2, 0.0] + 1.0))


def test_sparse_features_give_the_model_of_dense_ones(poisson_regression: Any) -> None:
    X, y = sparse_visits()
    sparse, dense = (poisson_regression(epochs=5).fit(M, y) for M in (X, X.toarray()))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(sparse.predict(X), dense.predict(X.toarray()))


def test_sparse_features_do_not_depend_on_the_placement(
    poisson_regression: Any, tmp_path: Path
) -> None:
    X, y = sparse_visits()
    dump_svmlight_file(X, y, str(tmp_path / "visits.svm"), zero_based=False)
    data = open_dataset(tmp_path / "visits.svm", kind="labelled")
    assert not isinstance(data.features, np.ndarray)
    assert_placement_independent(poisson_regression(), data, epochs=3)


def test_the_error_for_a_saved_model_names_load(poisson_regression: Any, tmp_path: Path) -> None:
    X, y = sparse_visits(50)
    path = tmp_path / "model.npz"
    poisson_regression(epochs=1).fit(X, y).save(path)
    with pytest.raises(BadInput) as caught:
        load_model(path)
    assert f'load_application("file.py").load("{path}")' in str(caught.value)
    assert "'poisson_regression'" in str(caught.value)
    assert "motet predict --app file.py" in str(caught.value)
    assert "did you mean" not in str(caught.value)


@pytest.mark.soak
@pytest.mark.cluster
def test_sparse_features_train_on_a_cluster(poisson_regression: Any, tmp_path: Path) -> None:
    X, y = sparse_visits()
    dump_svmlight_file(X, y, str(tmp_path / "visits.svm"), zero_based=False)
    ended = run_motet(
        *("train", EXAMPLE, "--data", tmp_path / "visits.svm", "--epochs", "2", "--json", "-q"),
        *("--machines", "2", "--workers", "2", "--servers", "1"),
    )
    alone = poisson_regression(epochs=2, random_state=0).fit(X, y)

    assert (ended.code, ended.left_running) == (0, {})
    assert json.loads(ended.out)["final_loss"] == pytest.approx(alone.loss_curve_[-1], rel=1e-6)


def test_held_out_metrics_come_from_predict_and_score(poisson_regression: Any) -> None:
    X, y = sparse_visits()
    rows = slice(0, 300)
    model = poisson_regression(epochs=5).fit(X[rows], y[rows])
    held_out = as_dataset("labelled", X[300:], y[300:])

    errors = model.predict(X[300:]) - y[300:]
    assert model.test_metrics(held_out) == {"test_rmse": pytest.approx(np.sqrt(np.mean(errors**2)))}

    class Scored(poisson_regression):  # type: ignore[misc]
        def score(self, X: Any, y: Any) -> float:
            return -float(np.abs(self.predict(X) - y).max())

    scored = Scored(epochs=5).fit(X[rows], y[rows]).test_metrics(held_out)
    assert scored["test_score"] == pytest.approx(-np.abs(errors).max())


def test_a_classifier_is_tested_by_its_accuracy() -> None:
    class Sign(motet.MLR):
        estimator_type = "classifier"
        test_metrics = Estimator.test_metrics
        score = None  # type: ignore[assignment]

        def predict(self, X: Any) -> Any:
            return (X[:, 0] > 0).astype(float)

    X = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    data = as_dataset("labelled", X, [1.0, 0.0, 0.0, 0.0])
    assert Sign().test_metrics(data) == {"test_accuracy": 0.75}


@pytest.mark.cluster
def test_the_constructor_s_epochs_count_and_held_out_data_are_tested(tmp_path: Path) -> None:
    X, y = sparse_visits()
    dump_svmlight_file(X, y, str(tmp_path / "visits.svm"), zero_based=False)
    source = EXAMPLE.read_text().replace("epochs=20", "epochs=3")
    (tmp_path / "own.py").write_text(source)
    data = tmp_path / "visits.svm"
    ended = run_motet("train", tmp_path / "own.py", "--data", data, "--test", data, "--json")

    document = json.loads(ended.out)
    assert document["epochs"] == 3
    assert document["metrics"]["test_rmse"] > 0


def test_epochs_of_the_constructor_that_are_no_number_are_refused(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(EXAMPLE.read_text().replace("epochs=20", "epochs='many'"))
    ended = run_motet("train", own, "--data", "diabetes")
    assert (ended.code, ended.err) == (
        2,
        "motet: error: epochs='many': must be a whole number of at least 1\n",
    )
    with pytest.raises(BadInput, match="epochs='many': must be a whole number"):
        motet.train(str(own), "diabetes")


@pytest.mark.parametrize("default", ["", "=None"])
def test_without_a_default_of_the_constructor_the_class_s_epochs_count(
    tmp_path: Path, default: str
) -> None:
    own = tmp_path / "own.py"
    source = EXAMPLE.read_text().replace("self, l2", "self, *, l2")
    own.write_text(source.replace("epochs=20", f"epochs{default}"))
    app_class = load_application(str(own))
    assert default_epochs(app_class) == app_class.default_epochs
    assert epochs_of(app_class(epochs=None), None) == app_class.default_epochs


def test_a_constructor_without_epochs_is_named(tmp_path: Path) -> None:
    source = EXAMPLE.read_text().replace("epochs=20, ", "").replace("self.epochs = epochs", "pass")
    (tmp_path / "own.py").write_text(source)
    ended = run_motet("train", tmp_path / "own.py", "--data", "diabetes")

    assert ended.code == 2
    assert "__init__ of PoissonRegression has no argument epochs; add it" in ended.err


def test_what_cannot_be_tested_is_refused_before_training(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(EXAMPLE.read_text().replace("def predict", "def expected"))
    ended = run_motet("train", own, "--data", "diabetes", "--test", "diabetes")

    assert ended.code == 2
    assert "--test: poisson_regression defines neither predict nor score" in ended.err
    assert "reading" not in ended.err


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("self.l2 = l2", "self.penalty = l2", "does not store its argument l2; add self.l2 = l2"),
        ("return Rows(np.arange(len(counts))", "return Rows(np.arange(3)", "3 ids and a column"),
        ("return Rows(np.arange(len(counts)), ", "return (", r"prepare returned dict; return Rows"),
        ("return ModelTable(", "return dict(", "model_table returned dict; return a ModelTable"),
        ("return np.zeros(self.width_)", "return np.zeros(2)", r"must be \(5,\)"),
        ("return np.array([np.sum(", "return float(np.sum(", "in evaluate: returned float; return"),
        ("return Evaluation(loss=", "return float(", r"summarise returned float; return Eval"),
    ],
)
def test_what_a_method_must_not_return_is_told(
    tmp_path: Path, right: str, wrong: str, message: str
) -> None:
    source = EXAMPLE.read_text()
    assert source.count(right) == 1
    end = {"return float(np.sum(": ('counts"] * scores)])', 'counts"] * scores))')}
    own = tmp_path / "own.py"
    own.write_text(source.replace(right, wrong).replace(*end.get(wrong, ("", ""))))
    X, y = sparse_visits(50)
    with pytest.raises((BadInput, JobFailed), match=message):
        load_application(str(own))(epochs=1).set_run(1, 0).fit(X, y)


def test_the_type_of_a_model_may_be_one_of_python_or_numpy(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(EXAMPLE.read_text().replace("np.dtype(np.float64)", "float"))
    X, y = sparse_visits(50)
    assert len(load_application(str(own))(epochs=1).fit(X, y).coef_) == 5


@pytest.mark.parametrize(
    ("right", "wrong", "code", "message"),
    [
        ("counts.min()", "counts.least()", 2, r"in prepare: AttributeError"),
        ("model.copy()", "model.cpy()", 1, r"in adopt: AttributeError"),
    ],
)
def test_the_place_of_an_error_outside_of_workers_is_told(
    tmp_path: Path, right: str, wrong: str, code: int, message: str
) -> None:
    own = tmp_path / "own.py"
    own.write_text(EXAMPLE.read_text().replace(right, wrong))
    ended = run_motet("train", own, "--data", "diabetes", "--epochs", "1")
    assert ended.code == code
    assert f"{message}: " in ended.err
    assert "own.py:" in ended.err
    assert "unexpected" not in ended.err


def test_a_class_without_a_name_is_refused_with_the_line_to_add(tmp_path: Path) -> None:
    own = tmp_path / "own.py"
    own.write_text(EXAMPLE.read_text().replace('    name = "poisson_regression"\n', ""))
    with pytest.raises(BadInput, match="name = 'poisson_regression' to the class"):
        load_application(str(own))


def test_predictions_that_are_no_numbers_are_refused(poisson_regression: Any) -> None:
    class Words(poisson_regression):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return ["many"] * X.shape[0]

    X, y = sparse_visits(50)
    model = Words(epochs=1).fit(X, y)
    with pytest.raises(BadInput, match=r"predict returned .*many.*must return numbers"):
        model.test_metrics(as_dataset("labelled", X, y))


@pytest.mark.soak
@pytest.mark.cluster
def test_an_error_of_predict_after_training_is_named_and_the_training_is_kept(
    tmp_path: Path,
) -> None:
    own, run = tmp_path / "own.py", tmp_path / "run"
    source = EXAMPLE.read_text()
    own.write_text(source.replace("return np.exp(X", "return np.exp(self.missing * X"))
    command = ("train", own, "--data", "diabetes", "--test", "diabetes", "--epochs", "2", "--json")
    options = ("--set", "learning_rate=0.01", "--out", run)
    failed = run_motet(*command, *options)
    own.write_text(source)
    resumed = run_motet(*command, *options, "--resume")

    assert failed.code == 1
    assert "on the data of --test: own.py:" in failed.err
    assert "in predict: AttributeError" in failed.err
    assert "give --resume: no epoch is trained again" in failed.err
    assert resumed.code == 0
    assert json.loads(resumed.out)["resumed_from_epoch"] == 2


def test_a_model_without_coefficients_is_fitted_and_saved(
    poisson_regression: Any, tmp_path: Path
) -> None:
    class Rates(poisson_regression):  # type: ignore[misc]
        def adopt(self, model: Any, rows: Any) -> None:
            self.rates_ = model.copy()

    X, y = sparse_visits(50)
    Rates(epochs=1).fit(X, y).save(tmp_path / "model.npz")
    loaded = Rates.load(tmp_path / "model.npz")
    loaded.check_fitted()
    assert loaded.rates_.shape == (5,)


@pytest.mark.cluster
def test_what_an_application_prints_is_not_in_the_document(tmp_path: Path) -> None:
    source = EXAMPLE.read_text()
    line = "        counts = dataset"
    talkative = source.replace(line, f"        print('prepares')\n{line}")
    assert talkative != source
    (tmp_path / "own.py").write_text(talkative)
    ended = run_motet(
        *("train", tmp_path / "own.py", "--data", "diabetes", "--epochs", "1", "--json"),
        *("--set", "learning_rate=0.01"),
    )
    assert json.loads(ended.out)["epochs"] == 1
    assert "prepares" in ended.err


def test_columns_of_an_own_application_are_found_by_their_names(tmp_path: Path) -> None:
    X, y = sparse_visits(60)
    rows = np.column_stack([X.toarray()[:, :3], y])
    table = tmp_path / "visits.csv"
    np.savetxt(table, rows, delimiter=",", header="a,b,c,visits", comments="")
    trained = run_motet(
        *("train", EXAMPLE, "--data", table, "--target", "visits", "--epochs", "2"),
        *("--out", tmp_path / "run", "--json"),
    )
    assert trained.code == 0, trained.err
    (tmp_path / "new.csv").write_text("a,b,c\n1,2,3\n")
    (tmp_path / "moved.csv").write_text("c,extra,a,b\n3,9,1,2\n")
    predicted = [
        run_motet("predict", tmp_path / "run" / "model.npz", "--data", data, "--app", EXAMPLE).out
        for data in (tmp_path / "new.csv", tmp_path / "moved.csv")
    ]
    assert predicted[0] == predicted[1] != ""
