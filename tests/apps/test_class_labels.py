"""Labels of classifiers: booleans and large whole numbers are the same on every route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame, Series

from motet.apps.linear_regression import LinearRegression
from motet.apps.logistic_regression import LogisticRegression
from motet.apps.mlr import MLR
from motet.datasets import open_dataset
from motet.datasets.kinds import LabelledMatrix
from motet.domain.errors import BadInput

X = np.random.default_rng(0).normal(size=(60, 3))
IS_POSITIVE = X[:, 0] > 0
LARGE = np.where(IS_POSITIVE, 2**60 + 3, 2**60 + 1)
TRUTHS = [("True", "False"), ("true", "false"), ("TRUE", "FALSE")]


def from_csv(folder: Path, labels: Any) -> Any:
    path = folder / "data.csv"
    DataFrame(X, columns=["a", "b", "c"]).assign(y=labels).to_csv(path, index=False)
    return open_dataset(path, kind="labelled", target="y")


@pytest.mark.parametrize("app", [MLR, LogisticRegression])
def test_boolean_labels_give_boolean_classes(app: Any) -> None:
    for y in (IS_POSITIVE, Series(IS_POSITIVE), Series(IS_POSITIVE, dtype="boolean")):
        model = app().fit(X, y)
        assert (model.classes_.dtype, model.classes_.tolist()) == (np.bool_, [False, True])
        assert (~model.predict(X)).tolist() == (model.predict(X) == 0).tolist()
        assert model.score(X, y) == np.mean(model.predict(X) == IS_POSITIVE) > 0.9


@pytest.mark.parametrize("words", TRUTHS)
def test_a_csv_column_of_true_and_false_is_boolean(words: tuple[str, str], tmp_path: Path) -> None:
    dataset = from_csv(tmp_path, np.where(IS_POSITIVE, *words))
    model = MLR().fit(dataset)
    np.testing.assert_array_equal(model.classes_, [False, True])
    assert model.classes_.dtype == np.bool_
    assert model.score(X, Series(IS_POSITIVE)) > 0.9


def test_boolean_classes_are_saved(tmp_path: Path) -> None:
    MLR().fit(X, IS_POSITIVE).save(tmp_path / "m.npz")
    loaded = MLR.load(tmp_path / "m.npz")
    assert loaded.predict(X).dtype == np.bool_


def test_a_score_of_words_against_numbers_is_refused() -> None:
    model = MLR().fit(X, np.where(IS_POSITIVE, "yes", "no"))
    with pytest.raises(BadInput, match=r"y holds numbers.*the model's classes are words \(no, yes"):
        model.score(X, IS_POSITIVE)
    with pytest.raises(BadInput, match="y holds words, the model's classes are numbers"):
        MLR().fit(X, IS_POSITIVE).score(X, np.where(IS_POSITIVE, "yes", "no"))


def test_boolean_test_data_fit_a_model_of_zeros_and_ones(tmp_path: Path) -> None:
    model = MLR().fit(X, IS_POSITIVE.astype(int))
    assert model.test_metrics(from_csv(tmp_path, IS_POSITIVE))["test_accuracy"] > 0.9


def test_no_rows_have_no_accuracy() -> None:
    model = MLR(epochs=1, tol=0).fit(np.eye(2), [0, 1])
    with pytest.raises(BadInput, match="no rows; a score needs at least one"):
        model.score(np.empty((0, 2)), [])


@pytest.mark.parametrize("app", [MLR, LogisticRegression])
def test_whole_numbers_above_2_to_the_53_stay_exact(app: Any, tmp_path: Path) -> None:
    for data in ((X, LARGE), (X, Series(LARGE)), (from_csv(tmp_path, LARGE),)):
        model = app().fit(*data)
        assert model.classes_.tolist() == [2**60 + 1, 2**60 + 3]
        assert model.score(X, LARGE) > 0.9
        assert model.test_metrics(from_csv(tmp_path, LARGE))["test_accuracy"] > 0.9


def test_whole_numbers_above_2_to_the_53_in_a_file_of_arrays_stay_exact(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=X, y=LARGE)
    model = MLR().fit(open_dataset(tmp_path / "data.npz", kind="labelled"))
    assert model.classes_.tolist() == [2**60 + 1, 2**60 + 3]


def test_rows_without_a_large_whole_number_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text(f"a,y\n1,{2**60 + 1}\n2,\n3,{2**60 + 3}\n")
    data = open_dataset(tmp_path / "data.csv", kind="labelled", target="y", drop="missing-rows")
    assert isinstance(data, LabelledMatrix)
    assert (data.classes, list(data.require_target())) == ((2**60 + 1, 2**60 + 3), [0, 1])


def test_large_whole_numbers_are_targets_of_a_regression(tmp_path: Path) -> None:
    target = (X[:, 0] * 2.0**58).astype(np.int64)
    model = LinearRegression().fit(from_csv(tmp_path, target))
    np.testing.assert_allclose(model.coef_, [2.0**58, 0, 0], atol=2.0**30)


def test_floats_too_large_for_classes_are_refused() -> None:
    with pytest.raises(BadInput, match=r"row 0 is 1e\+20; .* at most 64 bits"):
        MLR().fit(X, np.where(IS_POSITIVE, 1e20, 1e30))


def test_words_of_a_file_of_arrays_are_classes(tmp_path: Path) -> None:
    y = np.where(IS_POSITIVE, "ja", "nein")
    np.savez(tmp_path / "data.npz", X=X, y=y)
    model = MLR().fit(open_dataset(tmp_path / "data.npz", kind="labelled"))
    assert model.classes_.tolist() == ["ja", "nein"]
    assert model.score(X, y) > 0.9
