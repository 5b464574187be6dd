"""Predictions use the columns that the model was trained on, as in scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import motet
from motet.apps.estimator import Estimator
from motet.domain.errors import BadInput

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["a", "b", "c"])
TARGET = (FRAME["a"] > 0).astype(float)
MODELS = [motet.MLR(epochs=2), motet.LinearRegression(epochs=2), motet.Lasso(epochs=2)]


@pytest.mark.parametrize("model", [*MODELS, motet.KMeans(n_clusters=2, epochs=2)], ids=repr)
def test_names_are_kept_and_checked(model: Estimator, tmp_path: Path) -> None:
    fitted = type(model)(**model.get_params()).fit(FRAME, TARGET)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    fitted.save(tmp_path / "model.npz")
    for each in (fitted, motet.load_model(tmp_path / "model.npz")):
        expected = each.predict(FRAME)
        np.testing.assert_array_equal(each.predict(FRAME.to_numpy()), expected)
        with pytest.raises(BadInput, match="columns in another order"):
            each.predict(FRAME[["c", "b", "a"]])
        with pytest.raises(BadInput, match="no column 'b'"):
            each.predict(FRAME.rename(columns={"b": "z"}))


def test_fitting_again_on_an_array_forgets_the_names() -> None:
    model = motet.MLR(epochs=1).fit(FRAME, TARGET).fit(FRAME.to_numpy(), TARGET)
    assert "feature_names_in_" not in vars(model)
    with pytest.warns(UserWarning, match="X has feature names, but MLR was fitted without"):
        model.predict(FRAME[["c", "b", "a"]])


def test_numbers_of_columns_are_no_names() -> None:
    model = motet.MLR(epochs=1).fit(pd.DataFrame(FRAME.to_numpy()), TARGET)
    assert "feature_names_in_" not in vars(model)


def test_words_of_topics_are_checked() -> None:
    counts = pd.DataFrame(RNG.integers(0, 5, size=(12, 3)), columns=["cat", "dog", "owl"])
    model = motet.LDA(topics=2, epochs=3, tol=0).fit(counts)
    expected = model.transform(counts)
    np.testing.assert_array_equal(model.transform(counts.to_numpy()), expected)
    for use in (model.transform, model.score):
        with pytest.raises(BadInput, match=r"another order .* X\[model.vocabulary_\]"):
            use(counts[["owl", "cat", "dog"]])
        with pytest.raises(BadInput, match="no column 'dog'"):
            use(counts.rename(columns={"dog": "elk"}))


def test_numbers_of_columns_are_no_words() -> None:
    counts = RNG.integers(0, 5, size=(12, 3))
    model = motet.LDA(topics=2, epochs=3, tol=0).fit(pd.DataFrame(counts))
    assert model.vocabulary_ is None


def test_a_lacking_and_a_further_column_are_named() -> None:
    model = motet.MLR().fit(FRAME, TARGET)
    first, *rest = FRAME.columns
    with pytest.raises(BadInput, match=f"X has no column '{first}'"):
        model.predict(FRAME[rest])
    with pytest.raises(BadInput, match=r"X has a column 'more'.*X\[model.feature_names_in_\]"):
        model.predict(FRAME.assign(more=1.0))
