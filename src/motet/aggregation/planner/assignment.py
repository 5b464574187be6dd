"""Which Aggregators hold the tensors of a job: best fit in the cycles of the pool (Pseudocode 3).

Source: the seed's section 4.3.3.2, Pseudocode 3 as corrected in spec 06: r is an integer, the
arriving job's loss counts, and an Aggregator needs room for all runs of the job within a cycle.
The pseudocode estimates all Aggregators anew for each tensor. Only the chosen one changes in
between, by the runs of that tensor, so one estimate per job gives the same assignment.

Beyond the seed, an Aggregator also needs room on its link; its free time is that of the fuller one
of both resources.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.aggregation.planner.job_profile import AggregationProfile
from motet.aggregation.planner.pool import UNPLACED, AggregatorPool
from motet.aggregation.rule_defaults import LOSS_LIMIT
from motet.domain.arrays import Bools, Indices, Ints

_NONE = -1


class Assigned(NamedTuple):
    """`homes`: `(tensors,)`, the number of each tensor's Aggregator. `new`: how many are new."""

    homes: Ints
    new: int


def assign(
    pool: AggregatorPool,
    profile: AggregationProfile,
    homes: Ints | None = None,
    *,
    loss_limit: float = LOSS_LIMIT,
    most_new: int | None = None,
    excluded: Ints | None = None,
) -> Assigned | None:
    """Homes of a job's tensors, the longest first, each on the fullest Aggregator with room for it.

    A tensor that no Aggregator has room for gets a new one; numbers of new ones begin at
    `pool.next_number`. `homes`: of a job of the pool, of which the unplaced ones are assigned
    (None: the job is not in the pool, all are). `most_new`: at most so many (None: any number).
    `excluded`: numbers of Aggregators that get none, beside those on which a job stays alone.
    None: the tensors need more new Aggregators.
    """
    known = np.full(profile.tensors, UNPLACED) if homes is None else homes
    estimated = pool.cycles(loss_limit, profile.iteration_ns, profile.loss_limit)
    may_hold = estimated.is_within & ~pool.is_reserved()
    if excluded is not None:
        may_hold = may_hold & ~np.isin(pool.aggregators, excluded)
    order = profile.longest_first[known[profile.longest_first] == UNPLACED]
    limit = len(order) if most_new is None else min(most_new, len(order))
    places, new = _best_fit(
        order,
        profile.needs_ns,
        estimated.cycle_ns // profile.iteration_ns,
        estimated.room_ns,
        may_hold,
        profile.iteration_ns,
        limit,
    )
    if new > limit:
        return None
    numbers = np.concatenate([pool.aggregators, pool.next_number + np.arange(new)])
    found = known.copy()
    found[order] = numbers[places]
    return Assigned(found, new)


@njit(cache=True)
def _best_fit(
    order: Indices,
    needs_ns: Ints,
    runs: Ints,
    room_ns: Ints,
    may_hold: Bools,
    iteration_ns: int,
    most_new: int,
) -> tuple[Ints, int]:
    """Positions in this order, new Aggregators after those of the pool, and how many are new."""
    present = room_ns.shape[1]
    new_ns = np.full(most_new, iteration_ns, np.int64)
    free, free_link = np.concatenate((room_ns[0], new_ns)), np.concatenate((room_ns[1], new_ns))
    places = np.full(len(order), _NONE, np.int64)
    new = 0
    for place in range(len(order)):
        work_ns, link_ns = needs_ns[0, order[place]], needs_ns[1, order[place]]
        best, least = _NONE, 0
        for n in range(present + new):
            times = runs[n] if n < present else 1
            if n < present and not may_hold[n]:
                continue
            if free[n] < times * work_ns or free_link[n] < times * link_ns:
                continue
            left = min(free[n], free_link[n])
            if best == _NONE or left < least:
                best, least = n, left
        if best == _NONE:
            new += 1
            if new > most_new:
                return places, new
            best = present + new - 1
        places[place] = best
        times = runs[best] if best < present else 1
        free[best] -= times * work_ns
        free_link[best] -= times * link_ns
    return places, new
