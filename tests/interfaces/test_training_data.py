"""The data of `motet.train`: their names in messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame

from motet.apps.mlr import MLR
from motet.datasets import LabelledMatrix, Ratings, open_dataset
from motet.domain.errors import BadInput
from motet.interfaces.training_arguments import CheckedTraining
from motet.interfaces.training_data import DataArguments

UNUSED: Any = None
TRAIN = DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "kind": ["old", "odd"]})


def checked(data: Any, test: Any = None) -> CheckedTraining:
    reading = DataArguments(target="kind")
    return CheckedTraining(MLR(), UNUSED, data, test, reading, UNUSED, (), UNUSED)


def test_more_arrays_than_features_and_a_target_are_refused() -> None:
    features, target = np.eye(3), np.arange(3)
    data = (features, target, target)
    given = CheckedTraining(MLR(), UNUSED, data, None, DataArguments(), UNUSED, (), UNUSED)
    with pytest.raises(BadInput, match=r"data: 3 arrays; give X or \(X, y\)"):
        given.datasets()


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (TRAIN.drop(columns="b"), "test: no column 'b', which the training data has"),
        (TRAIN.assign(kind="new"), "test: class 'new' does not occur in training data X"),
        (TRAIN[["b", "a", "kind"]], "test: columns in another order than those of the training"),
        (TRAIN.assign(c=1.0), r"test: a column 'c', which the training data does not have"),
    ],
)
def test_messages_tell_test_data_from_training_data(test: DataFrame, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        checked(TRAIN, test).datasets()


def test_a_frame_for_testing_without_a_target_is_named_as_such() -> None:
    X, y = TRAIN[["a", "b"]], TRAIN["kind"]
    given = CheckedTraining(MLR(), UNUSED, (X, y), X, DataArguments(), UNUSED, (), UNUSED)
    with pytest.raises(BadInput, match=r"^test: a DataFrame needs \(X, y\)$"):
        given.datasets()


def test_a_table_in_a_file_for_testing_may_have_its_columns_in_another_order(
    tmp_path: Path,
) -> None:
    TRAIN[["b", "kind", "a"]].to_csv(tmp_path / "held-out.csv", index=False)
    _, held_out = checked(TRAIN, tmp_path / "held-out.csv").datasets()
    assert isinstance(held_out, LabelledMatrix)
    np.testing.assert_array_equal(held_out.features, TRAIN[["a", "b"]])


def test_columns_left_out_of_training_for_missing_values_may_be_in_the_test_data() -> None:
    reading = DataArguments(target="kind", drop=["missing"])
    train = TRAIN.assign(b=[None, 1.0])
    given = CheckedTraining(MLR(), UNUSED, train, TRAIN, reading, UNUSED, (), UNUSED)
    _, held_out = given.datasets()
    assert isinstance(held_out, LabelledMatrix)
    np.testing.assert_array_equal(held_out.features, TRAIN[["a"]])


def test_the_title_names_the_data_and_not_their_type() -> None:
    assert checked("digits").title == "mlr on digits"
    assert checked(([[1.0]], [1.0])).title == checked(TRAIN).title == "mlr on X"
    assert checked(open_dataset("iris")).title == "mlr on iris"


GAPS = DataFrame(
    {
        "a": [1.0, None, 3.0, 4.0, 5.0],
        "b": [1.0, 2.0, 3.0, 4.0, 5.0],
        "note": [None] * 5,
        "kind": ["old", "odd", None, "old", "odd"],
    }
)


def test_rows_with_missing_values_are_left_out_as_on_the_command_line(tmp_path: Path) -> None:
    GAPS.to_csv(tmp_path / "gaps.csv", index=False)
    for drop in (["note", "missing-rows"], "note,missing-rows"):
        reading = DataArguments(target="kind", drop=["note", "missing-rows"])
        frame = reading.dataset("labelled", GAPS, "train")
        same = DataArguments(target="kind", drop=drop)
        file = same.dataset("labelled", str(tmp_path / "gaps.csv"), "train")
        assert frame.features.tolist() == file.features.tolist() == [[1, 1], [4, 4], [5, 5]]
        assert frame.notes == file.notes == ("rows left out because values are missing: 2",)


def test_columns_with_missing_values_are_left_out_before_rows() -> None:
    reading = DataArguments(target="kind", drop=["missing", "missing-rows"])
    data = reading.dataset("labelled", GAPS, "train")
    assert data.feature_names == ("b",)
    assert data.features.tolist() == [[1], [2], [4], [5]]
    assert data.notes == (
        "columns left out because values are missing: 2",
        "rows left out because values are missing: 1",
    )


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        ("missing-rows", "data: every row has missing values; fill or drop columns"),
        (["b", "missing"], "data: every column has missing values; fill or remove rows"),
        ("missing_rows", "unknown column in drop 'missing_rows'"),
    ],
)
def test_nothing_left_of_a_frame_is_refused(drop: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        DataArguments(target="kind", drop=drop).dataset("labelled", GAPS, "train")


def test_columns_of_ratings_can_be_named(tmp_path: Path) -> None:
    frame = DataFrame({"Kunde": ["a", "b"], "Note": [4.0, 2.0], "Ware": ["x", "y"], "n": 1})
    frame.to_csv(tmp_path / "r.csv", index=False)
    reading = DataArguments(columns={"user": "Kunde", "item": "Ware", "rating": "Note"})
    for data in (frame, tmp_path / "r.csv"):
        found = reading.dataset("ratings", data, "train")
        assert isinstance(found, Ratings)
        assert (found.user_ids.tolist(), found.item_ids.tolist()) == (["a", "b"], ["x", "y"])
    with pytest.raises(BadInput, match=r"columns=.*: applies to ratings only"):
        reading.dataset("unlabelled", frame[["Note"]], "train")
