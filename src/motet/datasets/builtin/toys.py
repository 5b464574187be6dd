"""Small real data sets that are part of scikit-learn.

Its files are read without an import of scikit-learn, which takes longer than many trainings.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motet.datasets.kinds import LabelledMatrix, Ratings

_DIGITS_MAX_PIXEL = 16.0


def load_digits() -> LabelledMatrix:
    """1,797 handwritten digits of 8 x 8 pixels, scaled from 0..16 to 0..1; target 0..9."""
    features, target = _table("digits.csv.gz")
    return LabelledMatrix(
        features=features / _DIGITS_MAX_PIXEL,
        target=target,
        feature_names=tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8)),
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
    raw, target = _cells("diabetes_data_raw.csv.gz"), _cells("diabetes_target.csv.gz")
    mean, deviation = raw.mean(axis=0), raw.std(axis=0)
    features = raw - mean
    features /= deviation
    features /= len(features) ** 0.5
    return LabelledMatrix(
        features=features,
        target=target[:, 0].copy(),
        feature_names=("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"),
        source="diabetes",
    )


def load_breast_cancer() -> LabelledMatrix:
    """569 tumours, 30 features on their own scales, target 0 (malignant) or 1 (benign)."""
    measures = (
        *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity"),
        *("concave points", "symmetry", "fractal dimension"),
    )
    kinds = ("mean {}", "{} error", "worst {}")
    names = tuple(kind.format(measure) for kind in kinds for measure in measures)
    return _with_header("breast-cancer", "breast_cancer.csv", names)


def load_iris() -> LabelledMatrix:
    """150 flowers, 4 features in cm, target 0..2 (species)."""
    names = ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)")
    return _with_header("iris", "iris.csv", names)


def load_wine() -> LabelledMatrix:
    """178 wines, 13 features on their own scales, target 0..2 (cultivar)."""
    names = (
        *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols"),
        *("flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue"),
        *("od280/od315_of_diluted_wines", "proline"),
    )
    return _with_header("wine", "wine_data.csv", names)


def _with_header(name: str, file: str, feature_names: tuple[str, ...]) -> LabelledMatrix:
    features, target = _table(file, header_lines=1)
    return LabelledMatrix(
        features=features, target=target, feature_names=feature_names, source=name
    )


def _table(name: str, header_lines: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The features and the target, which is the last column."""
    cells = _cells(name, ",", header_lines)
    return np.ascontiguousarray(cells[:, :-1]), cells[:, -1].copy()


@cache
def _cells(name: str, delimiter: str | None = None, header_lines: int = 0) -> NDArray[np.float64]:
    """A file of scikit-learn; without a delimiter, spaces separate its numbers. It is read once,
    which takes 20 ms for the largest one, of 1 MB: a program may load it for every model."""
    package = find_spec("sklearn")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "datasets" / "data" / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        cells = np.loadtxt(file, delimiter=delimiter, skiprows=header_lines, ndmin=2)
    cells.flags.writeable = False
    return cells
