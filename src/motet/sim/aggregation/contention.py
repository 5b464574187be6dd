"""Losses of speed beyond the predicted ones, and the reaction of pMaster to them.

The planner assumes that jobs on an Aggregator do not slow each other down within its cycle. Here a
job may also lose speed in proportion to the part of its work that is on Aggregators with tensors of
other jobs. A loss of LossLimit or more after so many iterations gives it one more Aggregator (the
seed's section 4.3.3.3).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from motet.aggregation.planner.clusters import ClusteredPool
from motet.aggregation.planner.pool import AggregatorPool


def measured_losses(cluster: AggregatorPool, contention: float) -> Mapping[int, float]:
    """What the jobs would measure. `contention`: share of its speed that a job loses if all its
    tensors are on Aggregators with those of other jobs.
    """
    loads = cluster.loads
    is_shared = np.bincount(loads.aggregator, minlength=len(cluster.aggregators)) > 1
    row, found = 0, {}
    for number, predicted in cluster.losses().items():
        rows = slice(row, row + len(cluster.jobs[number].work[0]))
        work_ns = loads.work_ns[rows]
        shared = work_ns[is_shared[loads.aggregator[rows]]].sum() / work_ns.sum()
        found[number] = predicted + contention * float(shared)
        row = rows.stop
    return found


def with_own_aggregator(pool: ClusteredPool, number: int) -> ClusteredPool:
    """With one more Aggregator for a placed job, beside those where it is alone."""
    cluster = pool.cluster_of(number)
    assert cluster is not None, f"job {number} is placed"
    others = [job.work[0] for other, job in cluster.jobs.items() if other != number]
    alone = np.setdiff1d(cluster.jobs[number].work[0], np.concatenate([[], *others]))
    return pool.with_spread(number, alone.astype(np.int64))
