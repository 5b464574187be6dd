"""Groups whose jobs end together, at nearly the same use. The source names it in section 4.5.

All jobs of a group end an iteration at the same time, so a job with fewer iterations left leaves
the group earlier, and what it used of CPU and network is idle until the group is repaired. Jobs are
exchanged, with those of other groups and with waiting ones, while that makes the groups end more
evenly and U stays within a relative tolerance of the best.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.harmony.machine_split import worths
from motet.harmony.problem import OUTSIDE, Grouping, GroupingProblem, JobCosts, grouping_of

MOST_JOBS = 400
"""Beyond it the search is left out: a round looks at all pairs of jobs."""
_LEAST_GAIN = 1e-6


def with_even_ends(problem: GroupingProblem, grouping: Grouping, tolerance: float) -> Grouping:
    """Groups of the same sizes on as many machines; jobs without a predicted end stay."""
    left = problem.iterations_left
    if left is None or not grouping.groups or len(problem) > MOST_JOBS:
        return grouping
    left = np.where(np.isfinite(left), left, np.nan)
    group_of = np.full(len(problem), OUTSIDE)
    for place, group in enumerate(grouping.groups):
        group_of[list(group.jobs)] = place
    counts = np.array([group.machines for group in grouping.groups], dtype=np.int64)
    limits = problem.machine_memory_bytes, problem.cpu_weight
    _exchange(problem.costs, left, group_of, counts, *limits, 1 - tolerance)
    return grouping_of(group_of.tolist(), counts.tolist())


def preferring_even_ends(
    search: Callable[[GroupingProblem], Grouping], tolerance: float
) -> Callable[[GroupingProblem], Grouping]:
    """A search, and then even ends."""

    def found(problem: GroupingProblem) -> Grouping:
        return with_even_ends(problem, search(problem), tolerance)

    return found


@njit(cache=True)
def unevenness(left: Floats, group_of: Ints, counts: Ints) -> float:
    """Machines of each group times the part of its jobs' iterations that is missing until its last
    job has ended, summed over groups; jobs without a predicted end do not count.
    """
    longest, total, jobs = np.zeros(len(counts)), np.zeros(len(counts)), np.zeros(len(counts))
    for row in range(len(group_of)):
        group = group_of[row]
        if group >= 0 and not np.isnan(left[row]):
            longest[group] = max(longest[group], left[row])
            total[group] += left[row]
            jobs[group] += 1
    found = 0.0
    for group in range(len(counts)):
        if longest[group] > 0:
            found += counts[group] * (1 - total[group] / (jobs[group] * longest[group]))
    return found


@njit(cache=True)
def _exchange(
    costs: JobCosts,
    left: Floats,
    group_of: Ints,
    counts: Ints,
    memory_limit: float,
    cpu_weight: float,
    kept: float,
) -> None:
    """Exchange pairs of jobs in place, in each round the one after which groups end most evenly."""
    least = worths(costs, group_of, counts, memory_limit, cpu_weight).sum() * kept
    now = unevenness(left, group_of, counts)
    while True:
        best, first, second = now - _LEAST_GAIN, -1, -1
        for one in range(len(group_of)):
            for other in range(len(group_of)):
                if group_of[one] < 0 or group_of[one] == group_of[other]:
                    continue
                if np.isnan(left[one]) or np.isnan(left[other]):
                    continue
                group_of[one], group_of[other] = group_of[other], group_of[one]
                after = unevenness(left, group_of, counts)
                if after < best:
                    worth = worths(costs, group_of, counts, memory_limit, cpu_weight).sum()
                    if worth >= least:
                        best, first, second = after, one, other
                group_of[one], group_of[other] = group_of[other], group_of[one]
        if first < 0:
            return
        group_of[first], group_of[second] = group_of[second], group_of[first]
        now = best
