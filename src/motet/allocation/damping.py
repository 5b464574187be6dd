"""Jobs keep the workers and servers that they have where a change would hardly pay."""

from __future__ import annotations

import numpy as np

from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Worth, worth_with
from motet.allocation.max_min_share import Dealt, Demand, demand_of
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.snapshot import JobTable


def damped(
    dealt: Dealt, order: Ints, jobs: JobTable, worth: Worth, gpus: int, limits: Floats | float
) -> Dealt:
    """`allot` once more, where jobs whose worth would change by at most these `limits` keep to
    what they hold.

    `dealt`: what `allot` said of that order and so many GPUs; it remains where a job that runs
    then would have to wait now.
    """
    runs = (jobs.held_gpus > 0) & (dealt.gpus > 0)
    now = worth_with(worth, jobs.held_workers, jobs.held_servers)
    then = worth_with(worth, dealt.workers, dealt.servers)
    change = np.subtract(then, now, out=np.full(len(now), np.inf), where=runs)
    stays = runs & (np.abs(change) <= limits)
    fixed = _fixed(demand_of(jobs), jobs, stays)
    again = allot(order, fixed, jobs.number, worth, gpus)
    runs_no_more = (again.gpus == 0) & (dealt.gpus > 0)
    return dealt if runs_no_more.any() else again


def _fixed(demand: Demand, jobs: JobTable, stays: Bools) -> Demand:
    """As if they could run with what they hold only."""
    return demand._replace(
        min_workers=np.where(stays, jobs.held_workers, demand.min_workers),
        max_workers=np.where(stays, jobs.held_workers, demand.max_workers),
        min_servers=np.where(stays, jobs.held_servers, demand.min_servers),
        max_servers=np.where(stays, jobs.held_servers, demand.max_servers),
    )
