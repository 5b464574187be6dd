"""Likelihoods of topic models against their definitions."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest

from motet.apps.kernels.topic_likelihood import document_log_likelihood


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
