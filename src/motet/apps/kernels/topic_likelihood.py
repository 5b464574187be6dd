"""Likelihoods of topic models."""

from __future__ import annotations

from math import lgamma, log

import numpy as np

from motet.apps.kernels.topic_moves import count_document
from motet.domain.arrays import Counts, Floats, Indices
from motet.transport.native.compiled import njit

_TABULATED_COUNTS = 512


@njit(cache=True, nogil=True)
def document_log_likelihood(
    offsets: Indices, topics: Counts, topic_count: int, alpha: float
) -> float:
    """Return log p(topics) with the documents' topic shares integrated out.

    sum over documents of lnG(K alpha) - lnG(n_d + K alpha) + sum over topics lnG(n_dk + alpha) -
    lnG(alpha), with lnG the logarithm of the gamma function and K the number of topics.
    """
    in_document = np.zeros(topic_count, np.int32)
    present = np.empty(topic_count, np.uint32)
    topic_of = topics.view(np.uint32)
    gains = _log_gamma_gains(alpha)
    total = 0.0
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        present_count = count_document(
            topic_of, np.uint64(low), np.uint64(high), in_document, present
        )
        total += lgamma(topic_count * alpha) - lgamma(high - low + topic_count * alpha)
        for place in range(present_count):
            count = in_document[present[place]]
            known = count < len(gains)
            total += gains[count] if known else lgamma(count + alpha) - lgamma(alpha)
            in_document[present[place]] = 0
    return total


@njit(cache=True, nogil=True)
def _log_gamma_gains(alpha: float) -> Floats:
    """lnG(n + alpha) - lnG(alpha) of small counts n: most counts of a document's topics are."""
    gains = np.empty(_TABULATED_COUNTS)
    for count in range(len(gains)):
        gains[count] = lgamma(count + alpha) - lgamma(alpha)
    return gains


@njit(cache=True, nogil=True)
def token_log_likelihood(
    offsets: Indices, words: Counts, shares: Floats, topic_words: Floats
) -> float:
    """Return the sum over tokens of log p(word) for the documents' topic `shares`."""
    total = 0.0
    for row in range(len(offsets) - 1):
        for token in range(offsets[row], offsets[row + 1]):
            likelihood = 0.0
            for topic in range(shares.shape[1]):
                likelihood += shares[row, topic] * topic_words[words[token], topic]
            total += log(likelihood)
    return total
