"""Splits a data set without its own test set: a fixed fifth is held out."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings

SplitPart = Literal["train", "test"]
_SPLIT_SEED = 20_240_229


def part_of(dataset: Dataset, part: SplitPart, source: str) -> Dataset:
    """Return four fifths ("train") or the other fifth ("test") of the rows, ratings or documents.

    The split depends on their number only, so the two parts never overlap; order is kept.
    """
    count = _count(dataset)
    is_test = np.zeros(count, dtype=np.bool_)
    is_test[np.random.default_rng(_SPLIT_SEED).permutation(count)[: count // 5]] = True
    chosen = is_test if part == "test" else ~is_test
    rows = dataset.rows(chosen)
    return replace(rows.renumbered() if isinstance(rows, Ratings) else rows, source=source)


def _count(dataset: Dataset) -> int:
    match dataset:
        case LabelledMatrix():
            return dataset.row_count
        case Ratings():
            return dataset.rating_count
        case Corpus():
            return dataset.document_count
    raise TypeError(f"{type(dataset).__name__} has no parts")
