"""Losses of speed beyond the predicted ones, and the reaction of pMaster to them.

The planner assumes that jobs on an Aggregator do not slow each other down within its cycle. Here a
job may also lose speed in proportion to the part of its work that is on Aggregators with tensors of
other jobs. A loss of LossLimit or more after so many iterations gives it one more Aggregator (the
seed's section 4.3.3.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from motet.aggregation.planner.clusters import ClusteredPool
from motet.aggregation.planner.expansion import with_one_more
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.planner.scaling import released


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
    place = next(n for n, each in enumerate(pool.clusters) if number in each.jobs)
    cluster = pool.clusters[place]
    others = [job.work[0] for other, job in cluster.jobs.items() if other != number]
    alone = np.setdiff1d(cluster.jobs[number].work[0], np.concatenate([[], *others]))
    free = replace(cluster, next_number=max(pool.next_number, cluster.next_number))
    limit = pool.rules.loss_limit
    grown = released(with_one_more(free, number, alone.astype(np.int64), loss_limit=limit))
    clusters = (*pool.clusters[:place], grown, *pool.clusters[place + 1 :])
    return replace(pool, clusters=clusters, next_number=grown.next_number)
