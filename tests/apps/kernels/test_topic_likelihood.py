"""Likelihoods of topic models against their definitions."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from motet.apps.kernels.topic_likelihood import count_frequencies, document_log_likelihood
from motet.domain.arrays import Counts

TABLES = arrays(np.int32, array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 9))


@given(TABLES)
def test_frequencies_are_those_of_all_counts(counts: Counts) -> None:
    np.testing.assert_array_equal(count_frequencies(counts), np.bincount(counts.ravel()))


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        count_frequencies(np.array([[3, -1]], np.int32))


@pytest.mark.parametrize("tokens", [1, 40, 3000])
def test_documents_are_as_likely_as_by_definition(tokens: int) -> None:
    """Also with counts beyond those that are tabulated."""
    topics = np.random.default_rng(0).choice(3, tokens, p=[0.8, 0.2, 0.0]).astype(np.int32)
    alpha, empty = 0.3, 3 * 0.3
    counts = np.bincount(topics, minlength=3)
    expected = lgamma(empty) - lgamma(tokens + empty)
    expected += sum(lgamma(count + alpha) - lgamma(alpha) for count in counts)
    offsets = np.array([0, tokens, tokens])
    assert document_log_likelihood(offsets, topics, 3, alpha) == pytest.approx(expected, rel=1e-12)
