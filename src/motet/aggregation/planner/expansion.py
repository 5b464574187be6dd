"""A further Aggregator for a job that measures a loss of speed above LossLimit.

Source: the seed's section 4.3.3.3: an Aggregator is added and the whole job assigned anew, until
the measured loss is within LossLimit. It does not say how the job is assigned; best fit would leave
the added one empty. Here the tensors are spread over the job's Aggregators and the added ones, the
longest first, each to the one with the largest free share of its cycle (of its CPU time or its
link, whichever is fuller). With as many added ones as the job had when it was measured alone, they
hold all its tensors, so it runs as it did alone. From then on the job stays: the next consolidation
would otherwise undo what the loss required.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.rule_defaults import LOSS_LIMIT
from motet.domain.arrays import Ints


def with_one_more(
    pool: AggregatorPool, number: int, added: Ints, *, loss_limit: float = LOSS_LIMIT
) -> AggregatorPool:
    """The pool with one more Aggregator, `pool.next_number`, and the job's tensors spread anew.

    `added`: Aggregators that the job got in this way before. A spread that would overload an
    Aggregator gets further ones.
    """
    job = pool.jobs[number]
    others = replace(pool.without_job(number), kept_ns=pool.cycles(1.0).cycle_ns)
    most = min(job.profile.servers, job.profile.tensors)
    own = added
    while True:
        own = np.append(own, pool.next_number + len(own) - len(added))
        is_alone = len(own) >= most
        shared = np.zeros(0, np.int64) if is_alone else np.setdiff1d(job.work[0], own)
        homes = _spread(others, job.profile, own, shared, loss_limit)
        if homes is not None:
            return pool.with_job(number, job.profile, homes, stays=True)


def _spread(
    pool: AggregatorPool, profile: AggregationProfile, own: Ints, shared: Ints, loss_limit: float
) -> Ints | None:
    """Homes of the tensors on Aggregators of this job alone and shared ones; None: overload."""
    alone = np.full(len(own), profile.iteration_ns)
    state = pool.cycles(loss_limit, profile.iteration_ns)
    places = pool.positions(shared)
    numbers = np.concatenate([own, shared])
    cycle = np.concatenate([alone, state.cycle_ns[places]])
    free = np.hstack([[alone, alone], state.room_ns[:, places]])
    runs = cycle // profile.iteration_ns
    homes = np.zeros(profile.tensors, np.int64)
    for tensor in profile.longest_first:
        left = free - runs * profile.needs_ns[:, [tensor]]
        best = np.argmax(left.min(axis=0) / cycle)
        homes[tensor], free[:, best] = numbers[best], left[:, best]
    return homes if free.min() >= 0 else None
