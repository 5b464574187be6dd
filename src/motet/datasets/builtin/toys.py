"""Small real data sets that are part of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from motet.datasets.kinds import LabelledMatrix, Ratings

_DIGITS_MAX_PIXEL = 16.0


def load_digits() -> LabelledMatrix:
    """1,797 handwritten digits of 8 x 8 pixels, scaled from 0..16 to 0..1; target 0..9."""
    from sklearn import datasets

    bunch: Any = datasets.load_digits()
    return LabelledMatrix(
        features=np.ascontiguousarray(bunch.data, dtype=np.float64) / _DIGITS_MAX_PIXEL,
        target=bunch.target.astype(np.float64),
        feature_names=tuple(map(str, bunch.feature_names)),
        source="digits",
        notes=("pixels are scaled from 0..16 to 0..1",),
    )


def load_digits_ratings() -> Ratings:
    """The same pixels as ratings: image u rates pixel i with its brightness, 0..1.

    Dark pixels are ratings as well, so that the error of a factorisation covers all cells.
    """
    pixels = load_digits().features
    image_count, pixel_count = pixels.shape
    images = np.repeat(np.arange(image_count, dtype=np.int64), pixel_count)
    places = np.tile(np.arange(pixel_count, dtype=np.int64), image_count)
    return Ratings.from_ids(images, places, np.asarray(pixels).ravel(), source="digits-ratings")


def load_diabetes() -> LabelledMatrix:
    """442 patients, 10 features (centred, unit norm), target: disease progression, 25..346."""
    from sklearn import datasets

    return _as_published("diabetes", datasets.load_diabetes)


def load_breast_cancer() -> LabelledMatrix:
    """569 tumours, 30 features on their own scales, target 0 (malignant) or 1 (benign)."""
    from sklearn import datasets

    return _as_published("breast-cancer", datasets.load_breast_cancer)


def load_iris() -> LabelledMatrix:
    """150 flowers, 4 features in cm, target 0..2 (species)."""
    from sklearn import datasets

    return _as_published("iris", datasets.load_iris)


def load_wine() -> LabelledMatrix:
    """178 wines, 13 features on their own scales, target 0..2 (cultivar)."""
    from sklearn import datasets

    return _as_published("wine", datasets.load_wine)


def _as_published(name: str, load: Callable[[], Any]) -> LabelledMatrix:
    bunch = load()
    return LabelledMatrix(
        features=np.ascontiguousarray(bunch.data, dtype=np.float64),
        target=bunch.target.astype(np.float64),
        feature_names=tuple(map(str, bunch.feature_names)),
        source=name,
    )
