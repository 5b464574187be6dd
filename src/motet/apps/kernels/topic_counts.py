"""What the controller computes of a topic model, by NumPy: it has no kernels to load for it."""

from __future__ import annotations

from collections.abc import Iterator
from math import lgamma

import numpy as np

from motet.apps.kernels.keyed_random import GOLDEN, stream_starts, unit_floats
from motet.domain.arrays import Counts, Floats, Indices, Ints

_FIRST_TOPICS_STREAM = 0
# So many tokens or counts at a time have temporary arrays, of eight bytes each.
_NUMBERS_AT_A_TIME = 1 << 20
_LANES, _MOST_IN_LANES = 8, 1 << 12


def first_topics(seed: int, documents: Indices, offsets: Indices, topic_count: int) -> Counts:
    """Draw a random topic for every token, keyed by (seed, document)."""
    topics = np.empty(offsets[-1], np.int32)
    for low, numbers in _token_numbers(seed, documents, offsets):
        topics[low : low + len(numbers)] = numbers * topic_count
    return topics


def topics_of_words(
    seed: int, documents: Indices, offsets: Indices, words: Counts, word_topics: Floats
) -> Counts:
    """Draw a topic for every token as `first_topics`, with the probabilities of its word's topics.

    `word_topics: (words, topics)`: rows sum to 1.
    """
    topic_count = word_topics.shape[1]
    ends = word_topics.cumsum(axis=1)
    ends += np.arange(len(ends))[:, None]
    ends[:, -1] = np.arange(1, len(ends) + 1)
    topics = np.empty(offsets[-1], np.int32)
    for low, numbers in _token_numbers(seed, documents, offsets):
        some = words[low : low + len(numbers)]
        found = np.searchsorted(ends.ravel(), some + numbers, side="right") - some * topic_count
        # Rounding may have made a number the end of its word's last topic.
        topics[low : low + len(numbers)] = np.minimum(found, topic_count - 1)
    return topics


def _token_numbers(seed: int, documents: Indices, offsets: Indices) -> Iterator[tuple[int, Floats]]:
    """Some tokens after others: the position of the first, and numbers in [0, 1) for all."""
    starts = stream_starts(seed, _FIRST_TOPICS_STREAM, documents)
    # The state of a document's first token minus what its position adds below.
    starts -= offsets[:-1].astype(np.uint64) * GOLDEN
    for low in range(0, int(offsets[-1]), _NUMBERS_AT_A_TIME):
        tokens = np.arange(low, min(low + _NUMBERS_AT_A_TIME, offsets[-1]))
        owners = np.searchsorted(offsets, tokens, side="right") - 1
        yield low, unit_floats(starts[owners] + (tokens + 1).astype(np.uint64) * GOLDEN)


def count_topics(owners: Counts, topics: Counts, owner_count: int, topic_count: int) -> Counts:
    """`(owner_count + 1, topic_count)`: tokens of each owner and topic; the last row: of all."""
    counts = np.zeros((owner_count + 1, topic_count), np.int32)
    size = owner_count * topic_count
    # Each part adds to the whole table, which takes the longer, the fewer tokens it has.
    step = max(_NUMBERS_AT_A_TIME, size)
    for low in range(0, len(topics), step):
        places = owners[low : low + step].astype(np.int64) * topic_count
        places += topics[low : low + step]
        found = np.bincount(places, minlength=size).reshape(owner_count, topic_count)
        counts[:-1] += found.astype(np.int32)
    counts[-1] = counts[:-1].sum(axis=0)
    return counts


def expected_counts(
    offsets: Indices, words: Counts, topics: Counts, counts: Counts, priors: tuple[float, float]
) -> Floats:
    """Return the expected counts `(words, topics)` of all tokens, each given the others' topics.

    They have less variance than `counts: (words + 1, topics)` themselves, whose last row holds the
    totals (Rao-Blackwell theorem). `priors`: alpha and beta.
    """
    alpha, beta = priors
    (word_count, topic_count), totals = counts[:-1].shape, counts[-1] + (len(counts) - 1) * beta
    owners = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    of_documents = count_topics(owners, topics, len(offsets) - 1, topic_count)[:-1] + alpha
    by_word = np.argsort(words, kind="stable")
    expected = np.zeros((word_count, topic_count))
    step = max(_NUMBERS_AT_A_TIME // topic_count, 1)
    for low in range(0, len(by_word), step):
        tokens = by_word[low : low + step]
        document, word, topic = owners[tokens], words[tokens], topics[tokens]
        weights = of_documents[document]
        weights *= counts[word] + beta
        weights /= totals
        without = (of_documents[document, topic] - 1) * (counts[word, topic] - 1 + beta)
        weights[np.arange(len(tokens)), topic] = without / (totals[topic] - 1)
        weights /= weights.sum(axis=1, keepdims=True)
        names, firsts = np.unique(word, return_index=True)
        expected[names] += np.add.reduceat(weights, firsts)
    return expected


def count_frequencies(counts: Counts) -> Ints:
    """How many counts `(words, topics)` are 0, 1, 2, ...; raises ValueError for negatives."""
    if counts.min() < 0:
        raise ValueError("a count of words is negative")
    width = int(counts.max()) + 1
    # Most are 0. A core adds to several numbers faster than always to the same one.
    lanes = np.arange(counts.shape[1]) % (_LANES if width <= _MOST_IN_LANES else 1)
    frequencies = np.zeros((lanes.max() + 1, width), np.int64)
    step = max(_NUMBERS_AT_A_TIME // counts.shape[1], 1)
    for low in range(0, len(counts), step):
        places = np.add(counts[low : low + step], lanes * width, dtype=np.intp)
        found = np.bincount(places.ravel(), minlength=frequencies.size)
        frequencies += found.reshape(frequencies.shape)
    total: Ints = frequencies.sum(axis=0)
    return total


def word_log_likelihood(counts: Counts, totals: Counts, beta: float) -> float:
    """Return log p(words | topics) with the topics' word distributions integrated out.

    sum over topics of lnG(V beta) - lnG(n_k + V beta) + sum over words lnG(n_wk + beta) - lnG(beta)
    with lnG the logarithm of the gamma function; equal counts are taken together.
    """
    word_count, topic_count = counts.shape
    frequencies = count_frequencies(counts)
    occurring = np.flatnonzero(frequencies)
    gains = [lgamma(count + beta) - lgamma(beta) for count in occurring.tolist()]
    prior = word_count * beta
    norm = topic_count * lgamma(prior) - sum(lgamma(total + prior) for total in totals.tolist())
    return float(norm + frequencies[occurring] @ gains)
