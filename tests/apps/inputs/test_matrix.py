"""What is asked of features, targets and classes before training starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

from motet.apps import load_application
from motet.apps.estimator import features_for
from motet.apps.inputs.arrays import labelled_of
from motet.apps.inputs.class_labels import class_numbers, learn_classes
from motet.apps.inputs.matrix import finite_features, stored_by_content, varying_target
from motet.apps.linear_regression import LinearRegression
from motet.datasets.kinds import LabelledMatrix
from motet.domain.errors import BadInput


def labelled(target: Any, names: tuple[str, ...] | None = None) -> LabelledMatrix:
    values = np.asarray(target, dtype=np.float64)
    return LabelledMatrix(np.ones((len(values), 2)), values, None, names, source="t.csv")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused_with_their_place(bad: float) -> None:
    X = np.ones((3, 4))
    X[2, 1] = bad
    with pytest.raises(
        BadInput, match=r"x\.csv: holds NaN or infinite values \(row 2, feature 1\)"
    ):
        finite_features(LabelledMatrix(X, source="x.csv"))
    with pytest.raises(BadInput, match="holds NaN or infinite"):
        finite_features(LabelledMatrix(csr_matrix(X), source="x.csv"))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_empty_features_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(BadInput, match="training needs at least one of each"):
        finite_features(LabelledMatrix(np.ones(shape), source="x.csv"))


@pytest.mark.parametrize("name", ["mlr", "kmeans", "lasso", "logistic_regression"])
def test_every_application_says_that_there_are_no_rows(name: str) -> None:
    app = load_application(name)()
    with pytest.raises(BadInput, match="X: 0 rows and 2 feature columns; training needs at least"):
        app.fit(np.empty((0, 2)), np.empty(0))


def test_a_regression_refuses_words_nan_and_constants() -> None:
    with pytest.raises(BadInput, match=r"the target holds words \(no, yes\)"):
        varying_target(labelled([0, 1], ("no", "yes")))
    with pytest.raises(BadInput, match="the target of row 1 is nan"):
        varying_target(labelled([0, np.nan]))
    with pytest.raises(BadInput, match="the target is 7 in all 3 rows"):
        varying_target(labelled([7, 7, 7]))


def test_a_classifier_refuses_real_numbers_one_class_and_a_class_per_row() -> None:
    with pytest.raises(BadInput, match=r"the target of row 1 is 0\.5; classes must be whole"):
        learn_classes(labelled([0, 0.5]))
    with pytest.raises(BadInput, match="needs two classes; all rows are 3"):
        learn_classes(labelled([3, 3]))
    with pytest.raises(BadInput, match="40 classes in 40 rows; this looks like a regression"):
        learn_classes(labelled(range(40)))


def test_errors_of_an_argument_y_name_it() -> None:
    features = [[1.0], [2.0]]
    with pytest.raises(BadInput, match=r"^y: a classifier needs two classes"):
        learn_classes(labelled_of(features, [3, 3]))
    with pytest.raises(BadInput, match=r"^y: the target is 3 in all 2 rows"):
        varying_target(labelled_of(features, [3, 3]))


def test_a_missing_target_is_named() -> None:
    with pytest.raises(BadInput, match="needs a target, found none"):
        learn_classes(LabelledMatrix(np.ones((2, 2)), source="x.csv"))


def test_classes_are_numbered_in_ascending_order() -> None:
    classes, numbers = learn_classes(labelled([5, -1, 5, 2]))
    assert classes.tolist() == [-1, 2, 5]
    assert numbers.tolist() == [2, 0, 2, 1]


def test_named_classes_keep_the_order_of_their_names() -> None:
    data = labelled([1, 0, 1], ("dog", "ant"))
    classes, numbers = learn_classes(data)
    assert classes.tolist() == ["dog", "ant"]
    assert class_numbers(data, classes).tolist() == numbers.tolist() == [1, 0, 1]


def test_data_to_predict_on_must_be_as_wide_as_training_data() -> None:
    model = LinearRegression()
    with pytest.raises(NotFittedError, match="not fitted"):
        features_for(model, np.eye(2))
    model.fit(np.eye(3)[:, :2], [1.0, 2.0, 4.0])
    with pytest.raises(BadInput, match="X has 3 features, but the model was fitted with 2"):
        features_for(model, np.eye(3))


@pytest.mark.parametrize("nonzeros", [3, 4])
def test_the_form_of_a_matrix_follows_from_its_entries_alone(nonzeros: int) -> None:
    X = np.zeros((2, 6))
    X.flat[:nonzeros] = np.arange(1, nonzeros + 1)
    with_zeros = csr_matrix(np.ones((2, 6)))
    with_zeros.data = X.ravel().copy()
    stored = [stored_by_content(form) for form in (X, csr_matrix(X), with_zeros)]
    assert [isinstance(each, np.ndarray) for each in stored] == [nonzeros == 4] * 3
    for each in stored:
        dense = each if isinstance(each, np.ndarray) else each.toarray()
        np.testing.assert_array_equal(dense, X)
        assert isinstance(each, np.ndarray) or each.nnz == nonzeros
    assert with_zeros.nnz == 12


def test_a_target_of_dates_is_told_from_classes() -> None:
    with pytest.raises(BadInput, match=r"target holds dates \(2024-01-03, .*convert them"):
        varying_target(labelled([0, 1], ("2024-01-03", "2024-01-04")))
