"""How long the tensors of a job are on the links of their Aggregators."""

from __future__ import annotations

import numpy as np

from motet.aggregation.wire.pool_messages import JoinJob
from motet.domain.arrays import Ints

_BYTE_BIT_NS = 8 * 10**9
"""Nanoseconds that a byte takes at one bit per second."""


def link_times(
    request: JoinJob, workers: int, link_bps: int | None, iteration_ns: int
) -> Ints | None:
    """`(tensors,)`, the time of each tensor on a link in an iteration, at most an iteration; None:
    links are not limited.

    An Aggregator sends the values of a tensor to each worker, and their mean to the replica. It
    receives a gradient of at most the same size from each worker; replicas that it holds for others
    count at their homes, as their CPU time does.
    """
    if link_bps is None:
        return None
    sizes = np.array([each.value_bytes for each in request.tensors], np.float64)
    taken_ns = np.ceil(sizes * (workers + 1) * (_BYTE_BIT_NS / link_bps))
    return np.minimum(taken_ns, iteration_ns).astype(np.int64)
