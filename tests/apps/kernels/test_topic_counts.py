"""Counts of topics against plain loops, and the likelihood of words against its definition."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from keyed_numbers import keyed_numbers
from motet.apps.kernels import topic_counts
from motet.apps.kernels.topic_counts import (
    count_frequencies,
    count_topics,
    expected_counts,
    first_topics,
    topics_of_words,
    word_log_likelihood,
)
from motet.domain.arrays import Counts

TABLES = arrays(np.int32, array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 9))


@pytest.fixture(params=[1 << 20, 5], ids=["at once", "in parts"])
def _parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_counts, "_NUMBERS_AT_A_TIME", request.param)


@pytest.mark.usefixtures("_parts")
def test_first_topics_are_drawn_by_seed_and_document() -> None:
    lengths, documents = [3, 0, 11, 1], [7, 2, 0, 5]
    offsets = np.cumsum([0, *lengths])
    expected = [
        int(number * 6)
        for document, length in zip(documents, lengths, strict=True)
        for number in keyed_numbers(3, 0, document, length)
    ]
    assert first_topics(3, np.array(documents), offsets, 6).tolist() == expected


@pytest.mark.usefixtures("_parts")
def test_topics_of_words_are_drawn_by_seed_and_document() -> None:
    lengths, documents = [3, 0, 11, 1], [7, 2, 0, 5]
    offsets = np.cumsum([0, *lengths])
    words = (np.arange(15) % 3).astype(np.int32)
    shares = np.array([[0.2, 0.5, 0.3], [0, 1, 0], [0.9, 0.05, 0.05]])
    numbers = [
        number
        for document, length in zip(documents, lengths, strict=True)
        for number in keyed_numbers(3, 0, document, length)
    ]
    expected = [
        int((number >= shares[word].cumsum()[:-1]).sum())
        for word, number in zip(words, numbers, strict=True)
    ]
    assert topics_of_words(3, np.array(documents), offsets, words, shares).tolist() == expected


@pytest.mark.usefixtures("_parts")
def test_counts_are_expected_given_the_topics_of_all_other_tokens() -> None:
    offsets, words = np.array([0, 4, 4, 7]), np.array([0, 2, 2, 1, 2, 0, 2], np.int32)
    topics = np.array([1, 0, 1, 1, 2, 0, 0], np.int32)
    counts, (alpha, beta) = count_topics(words, topics, 4, 3), (0.3, 0.2)
    expected = np.zeros((4, 3))
    for document in (range(4), range(4, 7)):
        for token in document:
            others = [other for other in range(7) if other != token]
            near = [topics[other] for other in others if other in document]
            alike = [topics[other] for other in others if words[other] == words[token]]
            weights = np.array(
                [
                    (near.count(topic) + alpha)
                    * (alike.count(topic) + beta)
                    / (sum(topics[other] == topic for other in others) + 4 * beta)
                    for topic in range(3)
                ]
            )
            expected[words[token]] += weights / weights.sum()
    found = expected_counts(offsets, words, topics, counts, (alpha, beta))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("_parts")
def test_topics_are_counted_by_owner_and_in_all() -> None:
    owners = np.array([0, 2, 2, 0, 2, 2, 0], np.int32)
    topics = np.array([1, 0, 1, 1, 1, 0, 0], np.int32)
    expected = [[1, 2], [0, 0], [2, 2], [3, 4]]
    assert count_topics(owners, topics, 3, 2).tolist() == expected


@given(TABLES, st.integers(1, 9))
def test_frequencies_are_those_of_all_counts(counts: Counts, at_a_time: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topic_counts, "_NUMBERS_AT_A_TIME", at_a_time)
        found = count_frequencies(counts)
    assert found.tolist() == [(counts == n).sum() for n in range(counts.max() + 1)]


def test_frequencies_of_large_counts() -> None:
    found = count_frequencies(np.array([[5000, 0, 1], [5000, 7, 0]], np.int32))
    assert np.flatnonzero(found).tolist() == [0, 1, 7, 5000]
    assert found[[0, 1, 7, 5000]].tolist() == [2, 1, 1, 2]


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        count_frequencies(np.array([[3, -1]], np.int32))


def test_words_are_as_likely_as_by_definition() -> None:
    counts = np.array([[5, 0], [0, 700], [5, 1]], np.int32)
    totals, beta = counts.sum(axis=0), 0.2
    expected = 0.0
    for topic, total in enumerate(totals.tolist()):
        expected += lgamma(3 * beta) - lgamma(total + 3 * beta)
        expected += sum(lgamma(count + beta) - lgamma(beta) for count in counts[:, topic].tolist())
    assert word_log_likelihood(counts, totals, beta) == pytest.approx(expected, rel=1e-12)
