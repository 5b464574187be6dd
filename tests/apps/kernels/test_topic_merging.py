"""Merging of similar topics, beside SciPy's for topics of one size."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

from motet.apps.kernels.topic_merging import merged_topics
from motet.domain.arrays import Counts


def partition(groups: Counts) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(groups == group).tolist()) for group in groups}


@given(st.integers(0, 1000), st.integers(2, 12), st.data())
def test_topics_of_one_size_are_merged_as_by_scipy(
    seed: int, many: int, data: st.DataObject
) -> None:
    few = data.draw(st.integers(1, many))
    counts = np.random.default_rng(seed).dirichlet(np.ones(9), many).T * 100
    tree = linkage(np.sqrt(counts.T / 100), "ward")
    found = merged_topics(counts, few)
    assert set(found.tolist()) == set(range(few))
    assert partition(found) == partition(fcluster(tree, few, "maxclust").astype(np.int32))


def test_small_topics_are_merged_before_large_ones_that_differ_as_much() -> None:
    topics = np.array([[5, 5, 0, 0], [5, 0, 5, 0], [0, 0, 5, 50], [0, 5, 0, 50]], float).T
    counts = topics * [1, 1, 100, 100]
    assert partition(merged_topics(counts, 3)) == {
        frozenset({0, 1}),
        frozenset({2}),
        frozenset({3}),
    }


def test_a_topic_without_tokens_is_merged() -> None:
    counts = np.array([[5.0, 0, 0], [0, 0, 5]])
    assert len(partition(merged_topics(counts, 2))) == 2
    assert merged_topics(counts, 2)[0] != merged_topics(counts, 2)[2]
