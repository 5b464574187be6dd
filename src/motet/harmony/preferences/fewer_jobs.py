"""Fewer jobs at nearly the same use: jobs whose share in it is small wait (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.2: few jobs per group are preferred, for shorter
completion times and less memory. By how much U may fall for that is not stated there.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Ints
from motet.harmony.problem import (
    Grouping,
    GroupingProblem,
    JobCosts,
    alone_of,
    comm_on,
    grouping_of,
    machine_worth,
    work_of,
)


def with_fewer_jobs(problem: GroupingProblem, grouping: Grouping, tolerance: float) -> Grouping:
    """Drop one job after the other, each time the one whose loss lowers U least, while U stays
    within this relative tolerance. A group keeps at least one job, and all of its machines.
    """
    if not grouping.groups:
        return grouping
    jobs = np.array([job for group in grouping.groups for job in group.jobs])
    sizes = np.array([len(group.jobs) for group in grouping.groups])
    machines = np.array([group.machines for group in grouping.groups])
    ends = np.cumsum(sizes)
    kept = _kept(problem.costs, jobs, ends - sizes, ends, machines, problem.cpu_weight, tolerance)
    rows = np.full(len(problem), -1)
    rows[jobs[kept]] = np.repeat(np.arange(len(sizes)), sizes)[kept]
    return grouping_of(rows.tolist(), machines.tolist())


def preferring_fewer_jobs(
    search: Callable[[GroupingProblem], Grouping], tolerance: float
) -> Callable[[GroupingProblem], Grouping]:
    """A search, and then fewer jobs."""

    def found(problem: GroupingProblem) -> Grouping:
        return with_fewer_jobs(problem, search(problem), tolerance)

    return found


@njit(cache=True)
def _kept(
    costs: JobCosts,
    jobs: Ints,
    begins: Ints,
    ends: Ints,
    machines: Ints,
    cpu_weight: float,
    tolerance: float,
) -> Bools:
    """Whether each of `jobs` stays; a group has those from `begins` to before `ends`.

    A job's loss depends on its group alone, so a heap has the least loss of each group, and only
    the group that drops a job is looked at again. Of equal losses that of the first group counts.
    """
    kept = np.ones(len(jobs), np.bool_)
    worth, place = np.zeros(len(ends)), np.zeros(len(ends), np.int64)
    losses = [(0.0, group) for group in range(len(ends))]
    for group in range(len(ends)):
        own = slice(begins[group], ends[group])
        worth[group], without, place[group] = _cheapest(
            costs, jobs[own], kept[own], machines[group], cpu_weight
        )
        losses[group] = (worth[group] - without, group)
    heapify(losses)
    spare = worth.sum() * tolerance
    while losses[0][0] <= spare:
        loss, group = heappop(losses)
        own = slice(begins[group], ends[group])
        kept[own][place[group]] = False
        spare -= loss
        worth[group], without, place[group] = _cheapest(
            costs, jobs[own], kept[own], machines[group], cpu_weight
        )
        heappush(losses, (worth[group] - without, group))
    return kept


@njit(cache=True)
def _cheapest(
    costs: JobCosts, jobs: Ints, kept: Bools, machines: int, cpu_weight: float
) -> tuple[float, float, int]:
    """The worth of a group, its highest worth without one of its jobs, and the place of that job;
    minus infinity with only one job."""
    cpu_sum = comm_sum = done = longest = second = 0.0
    for row in jobs[kept]:
        comp_s, comm_s, alone_s = _times(costs, row, machines)
        cpu_sum += comp_s + costs.outside_s[row]
        comm_sum += comm_s
        done += work_of(costs, row)
        second = max(second, min(longest, alone_s))
        longest = max(longest, alone_s)
    present = machine_worth(cpu_sum, comm_sum, longest, machines, cpu_weight, done)
    best, best_place = -np.inf, -1
    if kept.sum() == 1:
        return present, best, best_place
    for place in np.flatnonzero(kept):
        row = jobs[place]
        comp_s, comm_s, alone_s = _times(costs, row, machines)
        without = machine_worth(
            cpu_sum - comp_s - costs.outside_s[row],
            comm_sum - comm_s,
            second if alone_s >= longest else longest,
            machines,
            cpu_weight,
            done - work_of(costs, row),
        )
        if without > best:
            best, best_place = without, int(place)
    return present, best, best_place


@njit(cache=True)
def _times(costs: JobCosts, row: int, machines: int) -> tuple[float, float, float]:
    """COMP, COMM and the iteration of a job alone, in seconds."""
    comp_s = costs.divided_s[row] / machines + costs.constant_s[row]
    comm_s = comm_on(costs, row, machines)
    return comp_s, comm_s, alone_of(costs, row, comp_s, comm_s)
