"""What every application has from the base: scikit-learn's conventions, files, checks."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression as Reader
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from motet.apps import APPLICATIONS, load_application, load_model
from motet.apps.estimator import Estimator, seed_of
from motet.apps.inputs.arrays import labelled_of
from motet.apps.lda import LDA
from motet.apps.linear_regression import LinearRegression
from motet.apps.mlr import MLR
from motet.apps.model_file import read_model
from motet.apps.nmf import NMF
from motet.domain.bounded_reading.decompression import VARIABLE
from motet.domain.errors import BadInput, UnknownName

RATINGS = np.array([[5.0, 3.0, 0.0], [4.0, 0.0, 1.0], [1.0, 1.0, 5.0]])


def fitted() -> NMF:
    return NMF(rank=2, epochs=2).fit(RATINGS)


# -- hyper-parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_application_can_be_cloned_and_printed(name: str) -> None:
    app = load_application(name)(epochs=3, random_state=7)
    assert clone(app).get_params() == app.get_params()
    assert repr(app) == f"{type(app).__name__}(epochs=3, random_state=7)"


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_constructor_keeps_its_arguments_unchanged(name: str) -> None:
    app_class = load_application(name)
    marks = {parameter: object() for parameter in app_class().get_params()}
    kept = app_class(**marks).get_params()
    assert all(kept[parameter] is mark for parameter, mark in marks.items())


def test_repr_shows_what_differs_from_the_defaults() -> None:
    assert repr(NMF()) == "NMF()"
    assert repr(NMF(rank=3, random_state=None)) == "NMF(rank=3, random_state=None)"


def test_set_params_refuses_unknown_names() -> None:
    assert NMF().set_params(rank=3, l2=0.5).get_params()["rank"] == 3
    with pytest.raises(UnknownName, match="unknown parameter of nmf 'rnk'; did you mean 'rank'"):
        NMF().set_params(rnk=3)


@pytest.mark.parametrize("value", [0, 2.0, "3", True, None, float("nan")])
def test_epochs_must_be_a_whole_number_of_at_least_one(value: Any) -> None:
    with pytest.raises(BadInput, match=r"nmf: epochs=.* must be a whole number at least 1"):
        NMF(epochs=value).fit(RATINGS)


def test_numpy_numbers_are_numbers() -> None:
    app = NMF(rank=np.int64(2), l2=np.float32(0.5), epochs=np.int32(1)).fit(RATINGS)
    assert app.components_.shape == (2, 3)


def test_random_state_is_a_seed_or_none_for_a_fresh_one() -> None:
    assert seed_of(5) == seed_of(np.int64(5)) == 5
    assert seed_of(None) != seed_of(None)
    with pytest.raises(BadInput, match="random_state=-1 must be None or a whole number"):
        NMF(random_state=-1).fit(RATINGS)


# -- fit -------------------------------------------------------------------------------------------


def test_fit_returns_the_estimator_and_keeps_every_epochs_loss() -> None:
    app = NMF(rank=2, epochs=5)
    assert app.fit(RATINGS) is app
    assert app.loss_curve_.shape == (5,)
    assert app.loss_curve_[-1] < app.loss_curve_[0]


def test_fit_stops_when_the_loss_no_longer_improves() -> None:
    class ByLoss(NMF):
        lowered_metric = ""

    losses = ByLoss(rank=2, epochs=500, tol=1e-2).fit(RATINGS).loss_curve_
    assert len(losses) < 500
    means = np.convolve(losses, np.full(5, 1 / 5), mode="valid")
    falls = (means[:-5] - means[5:]) / 5 / means[:-5]
    assert falls[-1] <= 1e-2
    assert (falls[:-1] > 1e-2).all()


def test_fitting_again_starts_from_the_beginning() -> None:
    app = fitted()
    first = app.components_.copy()
    app.fit(2 * RATINGS)
    np.testing.assert_array_equal(app.fit(RATINGS).components_, first)


QUESTIONS = (
    "decision_function",
    "inverse_transform",
    "predict",
    "predict_proba",
    "score",
    "test_metrics",
    "transform",
)
UNFITTED = [
    (name, question)
    for name in APPLICATIONS
    for question in QUESTIONS
    if callable(getattr(load_application(name), question, None))
]


@pytest.mark.parametrize(("name", "question"), UNFITTED)
def test_an_unfitted_model_raises_not_fitted_error(name: str, question: str) -> None:
    app = load_application(name)()
    X: Any = (
        labelled_of([[0.0, 1.0], [1.0, 0.0]], [0, 1]) if question == "test_metrics" else [[1.0]]
    )
    arguments = (X, [1.0]) if question == "score" else (X,)
    message = rf"^this {type(app).__name__} is not fitted(, so it has no '\w+')?; call fit"
    with pytest.raises(NotFittedError, match=message):
        getattr(app, question)(*arguments)


def test_a_user_application_raises_not_fitted_error() -> None:
    class Mine(NMF):
        def predict(self, pairs: Any) -> Any:
            return self.components_.sum()

    with pytest.raises(
        NotFittedError, match="Mine is not fitted, so it has no 'components_'; call"
    ):
        Mine().predict(None)


def test_saving_needs_a_fitted_model_and_a_misspelt_attribute_is_just_that() -> None:
    with pytest.raises(NotFittedError, match="call fit or load first"):
        NMF().save("x")
    with pytest.raises(NotFittedError):
        check_is_fitted(NMF())
    check_is_fitted(fitted())
    assert not hasattr(NMF(), "components_")
    with pytest.raises(
        AttributeError, match="'NMF' object has no attribute 'component_'"
    ) as caught:
        fitted().component_  # type: ignore[attr-defined]  # noqa: B018 - the point is the look-up
    assert not isinstance(caught.value, NotFittedError)


def test_preparing_is_not_fitting() -> None:
    app = NMF(rank=2)
    app.prepare(_dataset(), 0)
    with pytest.raises(NotFittedError, match="not fitted"):
        app.predict([[0, 0]])


def test_a_data_set_of_another_kind_is_refused() -> None:
    with pytest.raises(BadInput, match="X: holds ratings; this application reads a matrix of num"):
        MLR().fit(_dataset())
    with pytest.raises(BadInput, match="X: holds a matrix of numbers; this application reads rat"):
        fitted().score(labelled_of([[1.0]]))


def _dataset() -> Any:
    from motet.apps.inputs.arrays import ratings_of

    return ratings_of(RATINGS)


# -- in scikit-learn's company ---------------------------------------------------------------------


def test_scikit_learn_recognises_the_kind_of_an_application() -> None:
    assert is_classifier(MLR())
    assert is_regressor(LinearRegression())
    assert not is_classifier(LDA())
    assert not is_regressor(LDA())


def test_topics_are_features_in_a_pipeline() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    X = rng.poisson(np.where(labels[:, None] == np.arange(20) % 2, 2.0, 0.1))
    pipeline = make_pipeline(LDA(topics=2, epochs=30), Reader()).fit(X[:100], labels[:100])
    assert pipeline.score(X[100:], labels[100:]) > 0.95


def test_hyper_parameters_can_be_searched() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), MLR(epochs=5))
    search = GridSearchCV(pipeline, {"mlr__l2": [1e-3, 100.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"mlr__l2": 1e-3}
    assert search.best_score_ > 0.9


# -- files -----------------------------------------------------------------------------------------


def test_a_loaded_model_is_the_saved_one(tmp_path: Path) -> None:
    app = fitted()
    app.save(tmp_path / "model.npz")
    for loaded in (NMF.load(tmp_path / "model.npz"), load_model(tmp_path / "model.npz")):
        assert type(loaded) is NMF
        assert repr(loaded) == repr(app)
        assert vars(loaded).keys() == vars(app).keys()
        np.testing.assert_array_equal(loaded.predict([[0, 0]]), app.predict([[0, 0]]))


def test_a_saved_model_is_plain_arrays_and_one_line_of_json(tmp_path: Path) -> None:
    fitted().save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        header = json.loads(str(file["motet"]))
        assert {file[name].dtype.kind for name in file.files} <= {"f", "i", "U"}
    assert header == {"format": 1, "application": "nmf", "parameters": fitted().get_params()}


def test_the_name_of_a_saved_model_is_taken_as_it_is(tmp_path: Path) -> None:
    fitted().save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_model_of_another_application_is_refused(tmp_path: Path) -> None:
    fitted().save(tmp_path / "model.npz")
    with pytest.raises(BadInput, match=r"model.npz: holds a model of 'nmf', not of 'lda'"):
        LDA.load(tmp_path / "model.npz")


def test_other_content_is_bad_input(tmp_path: Path) -> None:
    text, arrays, newer = tmp_path / "text", tmp_path / "arrays.npz", tmp_path / "newer.npz"
    text.write_text("hello")
    np.savez(arrays, x=np.zeros(3))
    np.savez(newer, motet=np.array(json.dumps({"format": 99, "application": "nmf"})))
    with pytest.raises(BadInput, match="no such file"):
        read_model(tmp_path / "nothing")
    for path in (text, arrays):
        with pytest.raises(BadInput, match=f"{path.name}: not a model that Motet saved") as caught:
            read_model(path)
        assert "pickle" not in str(caught.value)
    with pytest.raises(BadInput, match=r"newer.npz: model format 99, this Motet reads 1"):
        read_model(newer)


def test_a_file_with_pickled_objects_is_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    np.savez(path, motet=np.array([print], dtype=object))
    with pytest.raises(BadInput, match="not a model that Motet saved"):
        read_model(path)


@pytest.mark.parametrize("content", [b"\0" * 100, pickle.dumps({"motet": 1})])
def test_the_error_does_not_advise_to_load_a_pickle(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "evil.npz"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"not a model that Motet saved \(no arrays\)"):
        read_model(path)


def test_attributes_that_are_none_are_left_out_of_the_file(tmp_path: Path) -> None:
    app = LDA(topics=2, epochs=1).fit([[1, 2]])
    assert app.vocabulary_ is None
    app.save(tmp_path / "model.npz")
    assert LDA.load(tmp_path / "model.npz").vocabulary_ is None


def test_every_application_is_an_estimator() -> None:
    assert all(issubclass(load_application(name), Estimator) for name in APPLICATIONS)


def test_a_saved_model_that_expands_without_end_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    np.savez_compressed(path, motet=np.array("{}"), weights=np.zeros(1 << 20))
    monkeypatch.setenv(VARIABLE, "0.001")
    with pytest.raises(BadInput, match=f"{path.name}: expands to more than .*{VARIABLE}"):
        read_model(path)


@pytest.mark.parametrize("header", ["[]", "[" * 100_000, "7"])
def test_a_model_with_an_odd_header_is_refused(tmp_path, header):
    path = tmp_path / "model.npz"
    np.savez_compressed(path, motet=np.array(header))
    with pytest.raises(BadInput, match=f"{path.name}: not a model that Motet saved"):
        read_model(path)


def test_what_an_estimator_refuses_is_a_value_error(tmp_path: Path) -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    model = MLR(epochs=1, tol=0).fit(X, y)
    for refused in (
        lambda: MLR().fit([["a"]], [1]),
        lambda: MLR().fit(X, [0, 0, 0, 0]),
        lambda: MLR().fit(X, [0, None, 0, 1]),
        lambda: MLR(l2=-1).fit(X, y),
        lambda: model.predict(X[:, 1:]),
    ):
        with pytest.raises(BadInput) as caught:
            refused()
        assert isinstance(caught.value, ValueError)


def test_a_column_vector_as_target_is_taken_with_a_warning() -> None:
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        model = MLR().fit(X, y.reshape(-1, 1))
    np.testing.assert_array_equal(model.coef_, MLR().fit(X, y).coef_)
    assert model.score(X, y.reshape(-1, 1)) == model.score(X, y)


def test_notebooks_show_an_estimator_as_those_of_scikit_learn() -> None:
    text = MLR(l2=0.5)._repr_html_()
    assert "MLR" in text
    assert "l2" in text
