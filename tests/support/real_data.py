"""The real datasets of the quality gates, read without Motet's own readers."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array

_A9A_COLUMNS = 123


def mnist(data: Path, part: str = "train", rows: int = 10_000) -> LabelledMatrix:
    """The first rows of MNIST, pixels 0..1."""
    images = _bytes(data / "mnist" / f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:rows]
    labels = _bytes(data / "mnist" / f"{part}-labels-idx1-ubyte.gz", 8)[:rows]
    return LabelledMatrix(images / 255.0, labels.astype(np.float64), source=f"mnist {part}")


def a9a(data: Path, part: str = "a9a") -> LabelledMatrix:
    """a9a ("a9a.t": its test part), sparse."""
    with gzip.open(data / "a9a" / f"{part}.gz") as file:
        features, target = load_svmlight_file(file, n_features=_A9A_COLUMNS)
    features.indices = features.indices.astype(np.int32)
    features.indptr = features.indptr.astype(np.int32)
    return LabelledMatrix(features, target, source=part)


def communities(data: Path) -> LabelledMatrix:
    """Communities and Crime: the 100 columns without missing values, all standardised."""
    with gzip.open(data / "communities" / "communities.data.gz", "rt") as file:
        cells = [line.strip().split(",")[5:] for line in file]
    table = np.array(
        [[float("nan") if cell == "?" else float(cell) for cell in row] for row in cells]
    )
    table = table[:, ~np.isnan(table).any(axis=0)]
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    features = np.ascontiguousarray(table[:, :-1])
    return LabelledMatrix(features, table[:, -1].copy(), source="communities")


def _bytes(path: Path, header: int) -> Array:
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)
