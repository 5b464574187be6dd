"""Documents as bags of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from motet.datasets.kinds.base import Dataset, RowSelection, of_same_kind


@dataclass(frozen=True, eq=False)
class Corpus(Dataset):
    """Documents as bags of words, stored like a CSR matrix of (word, count) pairs.

    Document d owns pairs `offsets[d]:offsets[d + 1]` of `words` and `counts`, words ascending.
    `offsets`: (documents + 1,) int64. `words`, `counts`: (pairs,) int32; counts >= 1. The same
    corpus token by token is `token_words` with `token_offsets`. Documents may be empty.
    """

    kind: ClassVar[str] = "corpus"
    described: ClassVar[str] = "a corpus"

    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    vocabulary_size: int
    vocabulary: tuple[str, ...] | None = None

    @classmethod
    def from_pairs(
        cls,
        documents: NDArray[np.int64],
        words: NDArray[np.int64],
        counts: NDArray[np.int64],
        shape: tuple[int, int],
        *,
        source: str,
        vocabulary: tuple[str, ...] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Corpus:
        """Sort (document, word, count) triples into a corpus of `shape` (documents, words).

        Counts of repeated pairs are added; pairs with count 0 are left out.
        """
        document_count, word_count = shape
        cells, inverse = np.unique(documents * word_count + words, return_inverse=True)
        sums = np.zeros(len(cells), dtype=np.int64)
        np.add.at(sums, inverse, counts)
        cells, sums = cells[sums > 0], sums[sums > 0]
        pairs_per_document = np.bincount(cells // max(1, word_count), minlength=document_count)
        return cls(
            offsets=_offsets(pairs_per_document),
            words=(cells % max(1, word_count)).astype(np.int32),
            counts=sums.astype(np.int32),
            vocabulary_size=word_count,
            vocabulary=vocabulary,
            source=source,
            notes=notes,
        )

    @property
    def document_count(self) -> int:
        """Number of documents, empty ones included."""
        return len(self.offsets) - 1

    @property
    def pair_count(self) -> int:
        """Number of stored (word, count) pairs."""
        return len(self.words)

    @cached_property
    def token_count(self) -> int:
        """Number of words in running text: the sum of all counts."""
        return int(self.counts.sum(dtype=np.int64))

    @cached_property
    def token_words(self) -> NDArray[np.int32]:
        """(tokens,) int32: every word as often as it occurs, document by document."""
        return np.repeat(self.words, self.counts)

    @cached_property
    def token_offsets(self) -> NDArray[np.int64]:
        """(documents + 1,) int64: document d owns tokens `[d]:[d + 1]` of `token_words`."""
        return _offsets(self.counts)[self.offsets]

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield offsets, words, counts, and the vocabulary's size."""
        yield from (self.offsets, self.words, self.counts)
        yield np.array([self.vocabulary_size], dtype=np.int64)

    def describe(self) -> str:
        """Describe the corpus, such as "3,430 documents, 6,906 words, 467,714 tokens"."""
        return (
            f"{self.document_count:,} documents, {self.vocabulary_size:,} words, "
            f"{self.token_count:,} tokens"
        )

    def rows(self, selection: RowSelection) -> Self:
        """Return the chosen documents with the same vocabulary."""
        documents = np.arange(self.document_count)[selection]
        lengths = np.diff(self.offsets)[documents]
        offsets = _offsets(lengths)
        pairs = np.arange(offsets[-1]) + np.repeat(self.offsets[documents] - offsets[:-1], lengths)
        return replace(self, offsets=offsets, words=self.words[pairs], counts=self.counts[pairs])

    def reindexed_like(self, train: Dataset) -> Corpus:
        """Return this corpus with the word numbers of `train` (by name if both have names).

        Words that are not in the training data are left out and counted in a note: a topic model
        has no probability for them, and per-token figures are over the remaining words.
        """
        like = of_same_kind(self, train)
        new_word = self._word_positions_in(like)[self.words]
        known = new_word >= 0
        document = np.repeat(np.arange(self.document_count), np.diff(self.offsets))[known]
        lost = int(self.counts[~known].sum())
        counts = f"{lost:,} of {self.token_count:,} tokens"
        note = f"{counts} are left out: the training data lacks the words"
        return Corpus.from_pairs(
            document,
            new_word[known],
            self.counts[known].astype(np.int64),
            (self.document_count, like.vocabulary_size),
            source=self.source,
            vocabulary=like.vocabulary,
            notes=(*self.notes, note) if lost else self.notes,
        )

    def _word_positions_in(self, train: Corpus) -> NDArray[np.int64]:
        if self.vocabulary is None or train.vocabulary is None:
            own = np.arange(self.vocabulary_size, dtype=np.int64)
            return np.where(own < train.vocabulary_size, own, -1)
        position = {word: index for index, word in enumerate(train.vocabulary)}
        return np.array([position.get(word, -1) for word in self.vocabulary], dtype=np.int64)


def _offsets(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the start of each run, and the end: the cumulative sum with a leading zero."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
