"""A start for the topics of a corpus: more topics than wanted, of which similar ones are merged.

From random topics, Gibbs sampling often gets into a state that it leaves after hundreds of sweeps:
one topic has the words of two, and two others share those of a third. Among twice as many topics,
hardly any has the words of two; those that share words are merged. Expectation maximisation on a
sample of the documents finds them in a few rounds, by NumPy: the controller has no kernels to load.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from motet.apps.kernels.keyed_random import uniform_rows
from motet.apps.kernels.topic_merging import merged_topics
from motet.datasets.kinds import Corpus
from motet.domain.arrays import Counts, Floats, Indices

Weights: TypeAlias = NDArray[np.float32]

_SAMPLE_STREAM = 1 << 40
"""A stream of random numbers that no sweep has."""
_FIRST_WEIGHTS = 1
_TIMES_TOPICS = 2
_ROUNDS = 40
_TOKENS_OF_TOPIC = 5_000
_MOST_NUMBERS = 5_000_000
"""Tokens of the sample, or words, times topics of the start: about a second and 200 MB at most."""


class _Pairs(NamedTuple):
    """Documents, numbered from 0 and ascending, with their words and how often each occurs."""

    documents: Indices
    words: Counts
    counts: Counts


def word_topics(
    corpus: Corpus, seed: int, topic_count: int, priors: tuple[float, float]
) -> Floats | None:
    """Return the probability of each topic for a token of each word, `(words, topics)`.

    `priors`: alpha and beta. None if the vocabulary or a sample of 5,000 tokens per topic would be
    too large (the more topics there are, the less does one with the words of two change), or if no
    document with words is in the sample.
    """
    wanted = min(corpus.token_count, _TOKENS_OF_TOPIC * topic_count)
    largest = max(wanted, corpus.vocabulary_size)
    if largest * _TIMES_TOPICS * topic_count > _MOST_NUMBERS:
        return None
    pairs = _sampled_pairs(corpus, seed, wanted / corpus.token_count)
    if not len(pairs.words):
        return None
    alpha, beta = priors
    weights = _first_weights(seed, (len(pairs.words), _TIMES_TOPICS * topic_count))
    priors = (alpha / _TIMES_TOPICS, beta)
    found = _maximised(pairs, weights, corpus.vocabulary_size, priors)
    merged = np.zeros((corpus.vocabulary_size, topic_count))
    np.add.at(merged.T, merged_topics(found, topic_count), found.T)
    likelihoods = _likelihoods(merged, beta)
    shares: Floats = likelihoods / likelihoods.sum(axis=1, keepdims=True)
    return shares


def _sampled_pairs(corpus: Corpus, seed: int, share: float) -> _Pairs:
    """The pairs of a sample in which each document is with the same probability."""
    documents = np.arange(corpus.document_count)
    is_sampled = uniform_rows(seed, _SAMPLE_STREAM, documents, 1)[:, 0] < share
    owners = np.repeat(documents, np.diff(corpus.offsets))
    kept = is_sampled[owners]
    numbers = np.unique(owners[kept], return_inverse=True)[1]
    return _Pairs(numbers, corpus.words[kept], corpus.counts[kept])


def _first_weights(seed: int, shape: tuple[int, int]) -> Weights:
    """Random weights of the topics of each pair, so unequal that the topics differ.

    Weights of each word, the same in all documents, give worse topics.
    """
    weights = np.random.default_rng([seed, _FIRST_WEIGHTS]).random(shape, np.float32)
    # The fourth power, without `**`, whose last bits depend on the processor.
    weights *= weights
    weights *= weights
    return weights


def _maximised(
    pairs: _Pairs, weights: Weights, word_count: int, priors: tuple[float, float]
) -> Floats:
    """Return the expected counts `(words, topics)` after expectation maximisation.

    `weights: (pairs, topics)`: of the first round; overwritten.
    """
    alpha, beta = priors
    first_pairs = np.flatnonzero(np.diff(pairs.documents, prepend=-1))
    for _ in range(_ROUNDS):
        weights *= (pairs.counts / np.einsum("pk->p", weights)).astype(np.float32)[:, None]
        of_words = [np.bincount(pairs.words, column, word_count) for column in weights.T]
        expected: Floats = np.stack(of_words, axis=1, dtype=np.float64)
        of_documents = np.add.reduceat(weights, first_pairs) + np.float32(alpha)
        weights = of_documents.take(pairs.documents, axis=0)
        weights *= _likelihoods(expected, beta).astype(np.float32).take(pairs.words, axis=0)
    return expected


def _likelihoods(counts: Floats, beta: float) -> Floats:
    """Probability of each word in each topic."""
    smoothed: Floats = counts + beta
    likelihoods: Floats = smoothed / smoothed.sum(axis=0)
    return likelihoods
