"""All jobs of a pool assigned anew, in several orders, where that needs fewer Aggregators.

Jobs arrive in any order, and best fit never moves what it has placed. Assigning the longest
iterations first, for example, gives Aggregators their final cycle with their first job. This goes
beyond the seed, whose pool shrinks only when a job ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from types import MappingProxyType

import numpy as np
from scipy.optimize import linear_sum_assignment

from motet.aggregation.planner.assignment import assign
from motet.aggregation.planner.consolidation import consolidated_pool
from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import AggregatorPool
from motet.aggregation.rule_defaults import LOSS_LIMIT
from motet.domain.arrays import Floats, Ints

ORDERS: Mapping[str, Callable[[AggregationProfile], float]] = MappingProxyType(
    {
        "longest iteration first": lambda job: -job.iteration_ns,
        "shortest iteration first": lambda job: job.iteration_ns,
        "most work first": lambda job: -job.need_ns,
        "largest share of a cycle first": lambda job: -job.need_ns / job.iteration_ns,
        "largest tensor first": lambda job: -int(job.needs_ns.max()) / job.iteration_ns,
    }
)
"""Orders in which the jobs of a pool are assigned anew."""
_ROUNDING = 1e-9


def repacked(pool: AggregatorPool, loss_limit: float = LOSS_LIMIT) -> AggregatorPool:
    """The pool with the fewest Aggregators of all orders; itself where none needs fewer.

    Its Aggregators keep the numbers that leave the most CPU time of tensors where it is. A pool
    with jobs that stay is left as it is.
    """
    if any(job.stays for job in pool.jobs.values()):
        return pool
    best = pool
    for key in ORDERS.values():
        if len(best.aggregators) <= fewest(pool, loss_limit):
            break
        other = _assigned_anew(pool, key, loss_limit)
        if len(other.aggregators) < len(best.aggregators):
            best = other
    return pool if best is pool else _with_numbers_of(best, pool)


def fewest(pool: AggregatorPool, loss_limit: float) -> int:
    """A number of Aggregators that no assignment of these jobs is below."""
    shares = np.zeros(2)
    for job in pool.jobs.values():
        shares += _least_shares(job.profile, loss_limit)
    return ceil(float(shares.max()) - _ROUNDING)


def _least_shares(profile: AggregationProfile, loss_limit: float) -> Floats:
    """The shares of an Aggregator's CPU time and link that the job needs at the lowest speed within
    its limit.
    """
    limit = loss_limit if profile.loss_limit is None else profile.loss_limit
    shares: Floats = (1 - limit) * profile.needs_ns.sum(axis=1) / profile.iteration_ns
    return shares


def _assigned_anew(
    pool: AggregatorPool, key: Callable[[AggregationProfile], float], loss_limit: float
) -> AggregatorPool:
    made = AggregatorPool()
    for number in sorted(pool.jobs, key=lambda each: (key(pool.jobs[each].profile), each)):
        profile = pool.jobs[number].profile
        found = assign(made, profile, loss_limit=loss_limit)
        assert found is not None, "any number of new Aggregators is allowed"
        made = made.with_job(number, profile, found.homes)
    return consolidated_pool(made, loss_limit)


def _with_numbers_of(made: AggregatorPool, pool: AggregatorPool) -> AggregatorPool:
    """With the numbers of the pool instead of those from 0, which has more Aggregators."""
    stay_ns = np.zeros((len(made.aggregators), len(pool.aggregators)))
    for number, job in made.jobs.items():
        here, there = made.positions(job.homes), pool.positions(pool.jobs[number].homes)
        np.add.at(stay_ns, (here, there), job.profile.tensor_ns)
    numbers = pool.aggregators[linear_sum_assignment(-stay_ns)[1]]
    renamed = AggregatorPool(next_number=pool.next_number)
    for number in pool.jobs:
        job = made.jobs[number]
        renamed = renamed.with_job(number, job.profile, numbers[made.positions(job.homes)])
    return replace(renamed, kept_ns=made.kept_ns[np.argsort(numbers)])


def moved(before: AggregatorPool, after: AggregatorPool) -> Mapping[int, Ints]:
    """The tensors of each job that change their Aggregator, for jobs in both pools."""
    both = [number for number in after.jobs if number in before.jobs]
    changes = {
        number: np.flatnonzero(after.jobs[number].homes != before.jobs[number].homes)
        for number in both
    }
    return MappingProxyType({number: rows for number, rows in changes.items() if len(rows)})
