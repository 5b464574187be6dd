"""Aggregators released by moving their tensors to others (seed, section 4.3.3.3, "Job Exit")."""

from __future__ import annotations

import numpy as np

from motet.aggregation.planner.assignment import assign
from motet.aggregation.planner.pool import UNPLACED, AggregatorPool
from motet.aggregation.rule_defaults import LOSS_LIMIT


def consolidated_pool(pool: AggregatorPool, loss_limit: float = LOSS_LIMIT) -> AggregatorPool:
    """With the tensors of the least loaded Aggregators moved to others, which releases the former.

    An Aggregator is as loaded as the fuller one of its CPU time and its link. Ends with the first
    Aggregator whose tensors do not fit elsewhere without a new one. Those with tensors of jobs that
    stay are left as they are.
    """
    while len(pool.aggregators) > 1:
        state = pool.cycles(loss_limit)
        used = 1 - state.least_free_ns / np.maximum(state.cycle_ns, 1)
        is_kept = pool.holds_staying()
        if is_kept.all():
            return pool
        least = int(np.argmin(np.where(is_kept, np.inf, used)))
        smaller = emptied(pool, int(pool.aggregators[least]), loss_limit)
        if smaller is None:
            return pool
        pool = smaller
    return pool


def emptied(
    pool: AggregatorPool, aggregator: int, loss_limit: float = LOSS_LIMIT
) -> AggregatorPool | None:
    """Without one Aggregator, its tensors on others; None: they do not fit without a new one."""
    there = np.array([aggregator])
    held = [number for number, job in pool.jobs.items() if aggregator in job.work[0]]
    for number in held:
        job = pool.jobs[number]
        homes = np.where(job.homes == aggregator, UNPLACED, job.homes)
        pool = pool.with_job(number, job.profile, homes)
    for number in sorted(held, key=lambda each: (-pool.jobs[each].profile.need_ns, each)):
        job = pool.jobs[number]
        found = assign(
            pool, job.profile, job.homes, loss_limit=loss_limit, most_new=0, excluded=there
        )
        if found is None:
            return None
        pool = pool.with_job(number, job.profile, found.homes)
    return pool.without_aggregators(there)
