"""Damping: jobs keep their workers and servers if a change would hardly pay."""

from __future__ import annotations

import numpy as np

from motet.allocation.marginal_gain import allot
from motet.allocation.marginal_utility import Worth, utilities
from motet.allocation.max_min_share import Demand, RoleAllocation, demand_of
from motet.domain.arrays import Bools, Floats, Ints
from motet.domain.snapshot import JobTable


def damped(
    allocation: RoleAllocation,
    order: Ints,
    jobs: JobTable,
    utility: Worth,
    gpus: int,
    limits: Floats | float,
) -> RoleAllocation:
    """`allot` again, with jobs fixed to what they hold if their utility would change by at most
    `limits`.

    `allocation`: the result of `allot` for this order and number of GPUs; it is returned unchanged
    if a running job would otherwise have to wait.
    """
    runs = (jobs.held_gpus > 0) & (allocation.gpus > 0)
    now = utilities(utility, jobs.held_workers, jobs.held_servers)
    then = utilities(utility, allocation.workers, allocation.servers)
    change = np.subtract(then, now, out=np.full(len(now), np.inf), where=runs)
    stays = runs & (np.abs(change) <= limits)
    fixed = _fixed(demand_of(jobs), jobs, stays)
    again = allot(order, fixed, jobs.number, utility, gpus)
    runs_no_more = (again.gpus == 0) & (allocation.gpus > 0)
    return allocation if runs_no_more.any() else again


def _fixed(demand: Demand, jobs: JobTable, stays: Bools) -> Demand:
    """Demand in which these jobs can only run with what they hold."""
    return demand._replace(
        min_workers=np.where(stays, jobs.held_workers, demand.min_workers),
        max_workers=np.where(stays, jobs.held_workers, demand.max_workers),
        min_servers=np.where(stays, jobs.held_servers, demand.min_servers),
        max_servers=np.where(stays, jobs.held_servers, demand.max_servers),
    )
