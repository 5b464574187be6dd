"""The small data sets are those that scikit-learn loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import datasets

from motet.datasets.builtin import toys
from motet.datasets.kinds import LabelledMatrix


@pytest.mark.parametrize(
    ("load", "reference", "scale"),
    [
        (toys.load_digits, datasets.load_digits, 16.0),
        (toys.load_diabetes, datasets.load_diabetes, 1.0),
        (toys.load_breast_cancer, datasets.load_breast_cancer, 1.0),
        (toys.load_iris, datasets.load_iris, 1.0),
        (toys.load_wine, datasets.load_wine, 1.0),
    ],
)
def test_values_and_names_are_equal(
    load: Callable[[], LabelledMatrix], reference: Callable[[], Any], scale: float
) -> None:
    ours, bunch = load(), reference()
    np.testing.assert_array_equal(ours.features, bunch.data / scale)
    np.testing.assert_array_equal(ours.target, bunch.target)
    assert ours.feature_names == tuple(map(str, bunch.feature_names))
