"""The data of `motet.train`: their names in messages."""

from __future__ import annotations

from typing import Any

import pytest
from pandas import DataFrame

from motet.apps.mlr import MLR
from motet.datasets import open_dataset
from motet.domain.errors import BadInput
from motet.interfaces.training_arguments import CheckedTraining
from motet.interfaces.training_data import DataArguments

UNUSED: Any = None
TRAIN = DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "kind": ["old", "odd"]})


def checked(data: Any, test: Any = None) -> CheckedTraining:
    reading = DataArguments(target="kind")
    return CheckedTraining(MLR(), UNUSED, data, test, reading, UNUSED, (), UNUSED)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (TRAIN.drop(columns="b"), "test: no column 'b', which the training data has"),
        (TRAIN.assign(kind="new"), "test: class 'new' does not occur in training data X"),
    ],
)
def test_messages_tell_test_data_from_training_data(test: DataFrame, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        checked(TRAIN, test).datasets()


def test_the_title_names_the_data_and_not_their_type() -> None:
    assert checked("digits").title == "mlr on digits"
    assert checked(([[1.0]], [1.0])).title == checked(TRAIN).title == "mlr on X"
    assert checked(open_dataset("iris")).title == "mlr on iris"
