"""Cyclic execution: how often jobs run in the cycle of an Aggregator, and what that costs them.

The cycle C of an Aggregator is the longest iteration of the jobs with tensors there. A job with
iterations of D runs r = floor(C / D) times in it, so its iterations take C / r there: it loses
1 - D r / C of its speed. Each run takes the CPU time of its tensors there, and what the runs of all
jobs leave of the cycle is free. Source: the seed's section 4.3.3.2 and Pseudocode 3, in which r is
kept as an integer and the loss of the arriving job counts too (spec 06).

Beyond the seed: the link of an Aggregator is a second resource, of which each run takes the time of
the job's tensors on the link.

Departure: when the job with the longest iteration leaves, a shorter cycle may slow others down:
iterations of 2 and 3 lose nothing in a cycle of 6, but those of 2 lose a third in a cycle of 3. And
jobs that the long cycle slowed down a little run more often in a shorter one, which may have too
little time for them. The Aggregator then keeps its cycle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Floats, Ints

NO_OWN_LIMIT = np.nan
"""Of a job to which the pool's limit applies."""


class Loads(NamedTuple):
    """A row per job and Aggregator that holds tensors of it, in any order.

    `aggregator`: position in the pool. `iteration_ns`: D_j. `work_ns`: CPU time of the job's
    tensors there in an iteration. `own_limit`: of the job, or NO_OWN_LIMIT; None: of no job.
    `link_ns`: their time on the link in an iteration; None: links are not limited.
    """

    aggregator: Ints
    iteration_ns: Ints
    work_ns: Ints
    own_limit: Floats | None = None
    link_ns: Ints | None = None

    @property
    def limits(self) -> Floats:
        """Own limits of the rows."""
        if self.own_limit is None:
            return np.full(len(self.aggregator), NO_OWN_LIMIT)
        return self.own_limit

    @property
    def links_ns(self) -> Ints:
        """Times on the link of the rows."""
        return np.zeros_like(self.work_ns) if self.link_ns is None else self.link_ns


class Cycles(NamedTuple):
    """A row per Aggregator. `cycle_ns`: C_n. `free_ns`: F_n, CPU time of the cycle without work;
    `free_link_ns`: time in which its link is idle; negative where the Aggregator is overloaded.
    `is_within`: no job loses its limit or more there.
    """

    cycle_ns: Ints
    free_ns: Ints
    free_link_ns: Ints
    is_within: Bools

    @property
    def room_ns(self) -> Ints:
        """`(2, aggregators)`: free CPU time and free time on the link."""
        return np.stack([self.free_ns, self.free_link_ns])

    @property
    def least_free_ns(self) -> Ints:
        """Free time of the fuller resource."""
        return np.minimum(self.free_ns, self.free_link_ns)


def cycles(
    loads: Loads,
    kept_ns: Ints,
    loss_limit: float,
    arriving_ns: int = 0,
    arriving_limit: float | None = None,
) -> Cycles:
    """The cycles of all Aggregators. `kept_ns`: by Aggregator, the least cycle. `arriving_ns`: D_k
    of a job that would have tensors on each of them (0: as they are); its own work is not in
    `free_ns` unless it is in `loads`. `loss_limit`: of jobs without a limit of their own.
    """
    limits = np.where(np.isnan(loads.limits), loss_limit, loads.limits)
    arriving = loss_limit if arriving_limit is None else arriving_limit
    rows = loads.aggregator, loads.iteration_ns, loads.work_ns, loads.links_ns, limits
    return Cycles(*_cycles(*rows, kept_ns, arriving_ns, arriving))


def kept_cycles(loads: Loads, before_ns: Ints) -> Ints:
    """The least cycles after jobs have left: those before where a shorter one costs more speed, or
    is too short for the work or the link. Jobs with limits of their own may lose more than before
    within these.
    """
    natural_ns = np.zeros_like(before_ns)
    np.maximum.at(natural_ns, loads.aggregator, loads.iteration_ns)
    has_own = ~np.isnan(loads.limits)
    largest = []
    for cycle_ns in (natural_ns, before_ns):
        own = cycle_ns[loads.aggregator]
        idle_ns = own % loads.iteration_ns
        share = np.where(has_own, idle_ns >= loads.limits * own, idle_ns / own)
        lost = np.zeros(len(before_ns))
        np.maximum.at(lost, loads.aggregator, share)
        largest.append(lost)
    is_kept = largest[0] > largest[1]
    runs = natural_ns[loads.aggregator] // loads.iteration_ns
    for needed_ns in (loads.work_ns, loads.links_ns):
        free_ns = natural_ns.copy()
        np.subtract.at(free_ns, loads.aggregator, runs * needed_ns)
        is_kept |= free_ns < 0
    return np.where(is_kept, before_ns, 0)


def loss(cycle_ns: int, iteration_ns: int) -> float:
    """The share of its speed that a job loses on an Aggregator: (d - D) / d with d = C / r."""
    return 1 - iteration_ns * (cycle_ns // iteration_ns) / cycle_ns


@njit(cache=True)
def _exceeds(cycle_ns: int, iteration_ns: int, limit: float) -> bool:
    """Whether the loss is the limit or more, without a division: C - D r >= LossLimit C."""
    return cycle_ns % iteration_ns >= limit * cycle_ns


@njit(cache=True)
def _cycles(
    aggregator: Ints,
    iteration_ns: Ints,
    work_ns: Ints,
    link_ns: Ints,
    limits: Floats,
    kept_ns: Ints,
    arriving_ns: int,
    arriving_limit: float,
) -> tuple[Ints, Ints, Ints, Bools]:
    aggregators = len(kept_ns)
    cycle_ns = np.maximum(kept_ns, arriving_ns)
    for row in range(len(aggregator)):
        n = aggregator[row]
        cycle_ns[n] = max(cycle_ns[n], iteration_ns[row])
    is_within = np.ones(aggregators, np.bool_)
    if arriving_ns > 0:
        for n in range(aggregators):
            is_within[n] = not _exceeds(cycle_ns[n], arriving_ns, arriving_limit)
    free_ns, free_link_ns = cycle_ns.copy(), cycle_ns.copy()
    for row in range(len(aggregator)):
        n = aggregator[row]
        runs = cycle_ns[n] // iteration_ns[row]
        free_ns[n] -= runs * work_ns[row]
        free_link_ns[n] -= runs * link_ns[row]
        if _exceeds(cycle_ns[n], iteration_ns[row], limits[row]):
            is_within[n] = False
    return cycle_ns, free_ns, free_link_ns, is_within
