"""Merging of topics that have similar words."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Counts, Floats

_SMALLEST = 1e-300
"""Size of a topic without tokens: infinite costs times 0 would be no number."""


def merged_topics(counts: Floats, topic_count: int) -> Counts:
    """Return for each of the topics of `counts: (words, topics)` which merged one it belongs to.

    As many as `topic_count` are left. Ward's method: the two whose merger adds least to the squared
    distances from the tokens' topics to their means, between square roots of word distributions
    (Hellinger distance).
    """
    sizes = np.maximum(counts.sum(axis=0), _SMALLEST)
    group_of = np.arange(len(sizes))
    costs = _merger_costs(counts, sizes)
    for _ in range(len(sizes) - topic_count):
        kept, other = divmod(int(np.argmin(costs)), len(sizes))
        costs[kept] = costs[:, kept] = _costs_after(costs, sizes, kept, other)
        costs[other] = costs[:, other] = np.inf
        sizes[kept] += sizes[other]
        group_of[group_of == other] = kept
    return np.unique(group_of, return_inverse=True)[1].astype(np.int32)


def _merger_costs(counts: Floats, sizes: Floats) -> Floats:
    """`(topics, topics)`: n_a n_b / (n_a + n_b) times the squared distance; infinite for a = b."""
    roots = np.sqrt(counts / sizes)
    # Not by BLAS, whose sums depend on the number of threads.
    products = np.einsum("wa,wb->ab", roots, roots)
    squares = np.diag(products)
    distances = np.maximum(squares[:, None] + squares - 2 * products, 0)
    costs: Floats = distances * sizes[:, None] * sizes / (sizes[:, None] + sizes)
    np.fill_diagonal(costs, np.inf)
    return costs


def _costs_after(costs: Floats, sizes: Floats, kept: int, other: int) -> Floats:
    """Costs of mergers with the merger of two topics, after Lance and Williams (1967)."""
    both = sizes[kept] + sizes[other]
    mixed = (sizes[kept] + sizes) * costs[kept] + (sizes[other] + sizes) * costs[other]
    after: Floats = (mixed - sizes * costs[kept, other]) / (both + sizes)
    after[[kept, other]] = np.inf
    return after
