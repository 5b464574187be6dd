"""Generators of data of any size with a known truth, from a seed.

The truth (coefficients, factors, topics) depends on the seed only; training and test data are
different draws from it, so `--data NAME --test NAME` measures what it should.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from motet.datasets.builtin.settings import setting
from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings
from motet.datasets.kinds.base import SplitRole

_MOST = 1_000_000_000
_STREAM = {"truth": 0, "train": 1, "test": 2}


def _random(seed: int, stream: Literal["truth", "train", "test"]) -> np.random.Generator:
    return np.random.default_rng([seed, _STREAM[stream]])


class Generator(ABC):
    """A generator; its fields are its settings."""

    kind: ClassVar[type[Dataset]]

    @abstractmethod
    def generate(self, source: str, role: SplitRole) -> Dataset:
        """Draw the data; the same settings and role give the same bytes."""


@dataclass(frozen=True)
class SyntheticRegression(Generator):
    """y = X w + noise; X standard normal, `nonzeros` of the weights are not 0."""

    kind: ClassVar[type[Dataset]] = LabelledMatrix

    rows: int = setting(1_000, least=1, most=_MOST)
    features: int = setting(20, least=1, most=_MOST)
    nonzeros: int = setting(10, least=0, most=_MOST)
    noise: float = setting(0.1)
    seed: int = setting(0)

    def generate(self, source: str, role: SplitRole) -> LabelledMatrix:
        """A dense matrix with a real target."""
        truth = _random(self.seed, "truth")
        weights = np.zeros(self.features)
        chosen = truth.permutation(self.features)[: self.nonzeros]
        weights[chosen] = truth.normal(size=len(chosen))
        rng = _random(self.seed, role)
        features = rng.normal(size=(self.rows, self.features))
        target = features @ weights + self.noise * rng.normal(size=self.rows)
        return LabelledMatrix(features, target, source=source)


@dataclass(frozen=True)
class SyntheticClassification(Generator):
    """Gaussian clouds around `classes` centres at distances of about `separation`.

    With `density` below 1 that share of the cells is kept and the matrix is sparse.
    """

    kind: ClassVar[type[Dataset]] = LabelledMatrix

    rows: int = setting(1_000, least=1, most=_MOST)
    features: int = setting(20, least=1, most=_MOST)
    classes: int = setting(3, least=2, most=_MOST)
    separation: float = setting(3.0)
    density: float = setting(1.0, most=1.0)
    seed: int = setting(0)

    def generate(self, source: str, role: SplitRole) -> LabelledMatrix:
        """A dense or CSR matrix with targets 0..classes-1."""
        scale = self.separation / np.sqrt(2 * self.features)
        centres = _random(self.seed, "truth").normal(
            scale=scale, size=(self.classes, self.features)
        )
        rng = _random(self.seed, role)
        label = rng.integers(self.classes, size=self.rows)
        features = centres[label] + rng.normal(size=(self.rows, self.features))
        target = label.astype(np.float64)
        if self.density == 1.0:
            return LabelledMatrix(features, target, source=source)
        from scipy.sparse import csr_matrix

        features[rng.random(features.shape) >= self.density] = 0.0
        return LabelledMatrix(csr_matrix(features), target, source=source)


@dataclass(frozen=True)
class SyntheticRatings(Generator):
    """Non-negative factors of `rank`, scaled to a mean rating of 3, plus noise, never below 0.

    A share `density` of all (user, item) cells is rated, each at most once; a test set has a
    fifth as many other cells (fewer when the matrix is nearly full).
    """

    kind: ClassVar[type[Dataset]] = Ratings

    users: int = setting(1_000, least=1, most=_MOST)
    items: int = setting(500, least=1, most=_MOST)
    rank: int = setting(8, least=1, most=10_000)
    density: float = setting(0.05, most=1.0)
    noise: float = setting(0.1)
    seed: int = setting(0)

    def generate(self, source: str, role: SplitRole) -> Ratings:
        """Ratings whose ids are the positions in the factor matrices."""
        truth = _random(self.seed, "truth")
        user_factors = truth.exponential(size=(self.users, self.rank)) * 3 / self.rank
        item_factors = truth.exponential(size=(self.items, self.rank))
        cells = self._cells(truth, role)
        users, items = np.divmod(cells, self.items)
        exact = np.einsum("ij,ij->i", user_factors[users], item_factors[items])
        noisy = exact + self.noise * _random(self.seed, role).normal(size=len(cells))
        return Ratings.from_ids(users, items, np.maximum(noisy, 0.0), source=source)

    def _cells(self, truth: np.random.Generator, role: SplitRole) -> NDArray[np.int64]:
        """Draw the rated cells, ascending; one draw is split so that no cell is in both parts."""
        cell_count = self.users * self.items
        train_count = max(1, round(self.density * cell_count))
        wanted = min(cell_count, train_count + max(1, train_count // 5))
        both = _distinct(truth, cell_count, wanted)
        return np.sort(both[:train_count] if role == "train" else both[train_count:])


@dataclass(frozen=True)
class SyntheticCorpus(Generator):
    """The generative model of LDA: Dirichlet topics (0.05), Dirichlet mixtures (0.2)."""

    kind: ClassVar[type[Dataset]] = Corpus

    documents: int = setting(500, least=1, most=_MOST)
    words: int = setting(1_000, least=1, most=_MOST)
    topics: int = setting(10, least=1, most=100_000)
    length: int = setting(100, least=1, most=_MOST)
    seed: int = setting(0)

    def generate(self, source: str, role: SplitRole) -> Corpus:
        """Documents of Poisson(`length`) tokens (at least one), without a vocabulary."""
        topics = _random(self.seed, "truth").dirichlet(np.full(self.words, 0.05), size=self.topics)
        rng = _random(self.seed, role)
        lengths = np.maximum(1, rng.poisson(self.length, size=self.documents))
        mixtures = rng.dirichlet(np.full(self.topics, 0.2), size=self.documents)
        counts = [
            rng.multinomial(n, mix @ topics) for n, mix in zip(lengths, mixtures, strict=True)
        ]
        documents, words = np.nonzero(counts)
        return Corpus.from_pairs(
            documents,
            words,
            np.asarray(counts)[documents, words],
            (self.documents, self.words),
            source=source,
        )


def _distinct(rng: np.random.Generator, below: int, wanted: int) -> NDArray[np.int64]:
    """Draw `wanted` different numbers of 0..below-1 in random order, without a full permutation."""
    if 2 * wanted > below:
        return rng.permutation(below)[:wanted]
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < wanted:
        more = rng.integers(below, size=wanted + wanted // 2 - len(drawn) // 2 + 16)
        drawn = np.unique(np.concatenate([drawn, more]))
    return rng.permutation(drawn)[:wanted]


GENERATORS: Mapping[str, type[Generator]] = MappingProxyType(
    {
        "synthetic-classification": SyntheticClassification,
        "synthetic-corpus": SyntheticCorpus,
        "synthetic-ratings": SyntheticRatings,
        "synthetic-regression": SyntheticRegression,
    }
)
