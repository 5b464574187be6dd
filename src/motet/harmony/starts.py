"""Groupings from which the default search of Harmony starts: prefixes beyond Algorithm 1.

Every prefix up to some size, then prefixes that grow by a fifth, are grouped by Algorithm 2. Unlike
in Algorithm 1, the search does not end at the first prefix that raises no U; beside the number of
groups that balances single jobs it tries the number that balances their sums, and beside the
division of machines by absolute imbalance the one by relative imbalance. The number of the source
follows the median job and wastes CPU or network where long jobs differ from it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.harmony.machine_split import (
    balanced_group_count,
    evened_group_count,
    least_machines,
    split_machines,
    worths,
)
from motet.harmony.prefixes import Candidate, assigned, first_rows, nothing, widened
from motet.harmony.problem import GroupingProblem, JobCosts

_EVERY_SIZE, _GROWTH = 32, 1.2


def sizes_of_prefixes(jobs: int) -> Ints:
    """Every small size, then sizes that grow by a fifth, and the number of all jobs."""
    sizes = list(range(1, min(jobs, _EVERY_SIZE) + 1))
    while sizes and sizes[-1] < jobs:
        sizes.append(min(jobs, int(sizes[-1] * _GROWTH)))
    return np.array(sizes, dtype=np.int64)


def best_prefix(problem: GroupingProblem) -> Candidate:
    """The grouping of some prefix with the highest U, the smallest prefix of equal ones; no job
    runs if none of the groupings has enough memory.
    """
    return _best_of_sizes(
        problem.costs,
        problem.machines,
        problem.machine_memory_bytes,
        problem.cpu_weight,
        sizes_of_prefixes(len(problem)),
    )


def all_in_groups(problem: GroupingProblem, group_count: int) -> Candidate:
    """All jobs in this many groups; the score is minus infinity if a group lacks memory."""
    return _grouped(
        problem.costs,
        group_count,
        problem.machines,
        problem.machine_memory_bytes,
        problem.cpu_weight,
    )


@njit(cache=True)
def _best_of_sizes(
    costs: JobCosts, machines: int, memory_limit: float, cpu_weight: float, sizes: Ints
) -> Candidate:
    best = nothing(len(costs.comm_s))
    for size in sizes:
        prefix = first_rows(costs, size)
        evened = evened_group_count(prefix, machines)
        found = _grouped(prefix, evened, machines, memory_limit, cpu_weight)
        if found.score > best.score:
            best = found
        balanced = balanced_group_count(prefix, machines)
        if balanced != evened:
            found = _grouped(prefix, balanced, machines, memory_limit, cpu_weight)
            if found.score > best.score:
                best = found
    return widened(best, len(costs.comm_s))


@njit(cache=True)
def _grouped(
    costs: JobCosts, group_count: int, machines: int, memory_limit: float, cpu_weight: float
) -> Candidate:
    """All jobs in this many groups, with the better one of both divisions of machines.

    Each group has the machines that its memory needs, before others get more than that.
    """
    group_of = assigned(costs, group_count, machines)
    least = least_machines(costs, group_of, group_count, machines, memory_limit)
    if least.sum() > machines:
        least[:] = 1
    best = Candidate(group_of, np.zeros(0, np.int64), -np.inf)
    for is_relative in (True, False):
        counts = split_machines(costs, group_of, least, machines, is_relative)
        worth = worths(costs, group_of, counts, memory_limit, cpu_weight)
        if worth.sum() / machines > best.score or not len(best.counts):
            best = Candidate(group_of, counts, worth.sum() / machines)
    return best
