"""Completion times of the same jobs in two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from motet.domain.arrays import Floats, Ints
from motet.report.cluster_run.record import ClusterRun


class JobPairs(NamedTuple):
    """Jobs that finished in two runs, `(jobs,)`. `bins`: index into BINS, from the first run."""

    ids: tuple[str, ...]
    before_s: Floats
    after_s: Floats
    bins: Ints


def pair_jobs(first: ClusterRun, second: ClusterRun) -> JobPairs:
    """The jobs that finished in both runs, in the order of the first run."""
    row_of = {name: row for row, name in enumerate(second.ids)}
    pairs = [(row, row_of[name]) for row, name in enumerate(first.ids) if name in row_of]
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    ids = tuple(first.ids[row] for row in left)
    return JobPairs(ids, first.jct_s[left], second.jct_s[right], first.bins[left])


def concatenate_pairs(parts: Sequence[JobPairs]) -> JobPairs:
    """The pairs of several seeds in one table."""
    floats, ints = np.empty(0), np.empty(0, dtype=np.int64)
    return JobPairs(
        tuple(name for part in parts for name in part.ids),
        np.concatenate([floats, *(part.before_s for part in parts)]),
        np.concatenate([floats, *(part.after_s for part in parts)]),
        np.concatenate([ints, *(part.bins for part in parts)]),
    )
