"""How many Aggregators: more when a job arrives, fewer when a job ends (seed, section 4.3.3.3)."""

from __future__ import annotations

from motet.aggregation.planner.assignment import assign
from motet.aggregation.planner.consolidation import consolidated_pool
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.planner.repacking import repacked
from motet.aggregation.rule_defaults import LOSS_LIMIT

REPACKED_JOBS = 16
"""Jobs of a pool up to which an arrival that needs a new Aggregator may move tensors of others."""


def pool_after_arrival(
    pool: AggregatorPool,
    number: int,
    profile: AggregationProfile,
    *,
    loss_limit: float = LOSS_LIMIT,
    most_new: int | None = None,
    repacked_jobs: int = REPACKED_JOBS,
) -> AggregatorPool | None:
    """The pool with a job that arrived; None: it needs more than `most_new` new Aggregators.

    `repacked_jobs`: 0 is the seed's scheme, in which an arrival moves no tensor of other jobs.
    """
    found = assign(pool, profile, loss_limit=loss_limit)
    assert found is not None, "any number of new Aggregators is allowed"
    grown = pool.with_job(number, profile, found.homes)
    if found.new and len(grown.jobs) <= repacked_jobs:
        grown = repacked(consolidated_pool(grown, loss_limit), loss_limit)
    added = len(grown.aggregators) - len(pool.aggregators)
    return grown if most_new is None or added <= most_new else None


def pool_after_exit(
    pool: AggregatorPool, number: int, *, loss_limit: float = LOSS_LIMIT
) -> AggregatorPool:
    """The pool after a job has ended: Aggregators that became empty, or could be, are released."""
    return consolidated_pool(released(pool.without_job(number)), loss_limit)


def released(pool: AggregatorPool) -> AggregatorPool:
    """Without the Aggregators that hold no tensor."""
    return pool.without_aggregators(pool.aggregators[pool.is_empty()])
