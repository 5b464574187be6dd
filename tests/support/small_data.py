"""Data sets on which an application trains in milliseconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from motet.datasets import open_dataset
from motet.datasets.kinds import Corpus


def ratings() -> Any:
    return open_dataset("synthetic-ratings:users=150,items=40,rank=3,density=0.3,seed=1")


def corpus() -> Any:
    rng = np.random.default_rng(0)
    documents = np.repeat(np.arange(120), 30)
    words = 10 * rng.integers(0, 4, 120)[documents] + rng.integers(0, 10, len(documents))
    ones = np.ones(len(words), dtype=np.int64)
    return Corpus.from_pairs(documents, words, ones, (120, 40), source="planted")
