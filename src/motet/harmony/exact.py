"""The best grouping of few jobs: every subset, partition and division of machines.

A dynamic program over sets of jobs: the best worth of a set on m machines is that of a group with
the set's first job on k of them, and the best worth of the other jobs on m - k. Machines may stay
idle, which counts as utilisation 0 of them. Time: 3^jobs x machines^2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.harmony.problem import (
    Grouping,
    GroupingProblem,
    JobCosts,
    JobGroup,
    alone_of,
    comm_on,
    machine_worth,
    work_of,
)

MOST_STEPS = 20_000_000
"""Up to about this many steps (0.1 s) the best grouping is found by this program."""


def exact_steps(jobs: int, machines: int) -> int:
    """The steps of the dynamic program, about."""
    return int(3**jobs * machines**2 // 4)


def exact_grouping(problem: GroupingProblem, tolerance: float = 0.0) -> Grouping:
    """The grouping with the fewest jobs whose U is within this relative tolerance of the best one;
    of those with equally many jobs, the best.
    """
    costs = problem.costs
    worth = _worths_of_sets(
        costs, problem.machines, problem.machine_memory_bytes, problem.cpu_weight
    )
    best, chosen, counts = _best_partitions(worth)
    total = best[:, -1]
    sizes = np.array([set_.bit_count() for set_ in range(len(total))])
    is_good = total >= total.max() * (1 - tolerance)
    row = min(np.flatnonzero(is_good).tolist(), key=lambda each: (sizes[each], -total[each], each))
    return _traced(row, problem.machines, chosen, counts)


@njit(cache=True)
def _worths_of_sets(
    costs: JobCosts, machines: int, memory_limit: float, cpu_weight: float
) -> Floats:
    """`[set, m]`: machines times scalar utilisation of one group of these jobs."""
    jobs = len(costs.comm_s)
    worth = np.full((1 << jobs, machines + 1), -np.inf)
    for chosen in range(1, 1 << jobs):
        for count in range(1, machines + 1):
            cpu_s = comm_s = longest_s = memory = work_s = 0.0
            for job in range(jobs):
                if chosen >> job & 1:
                    own_s = costs.divided_s[job] / count + costs.constant_s[job]
                    cpu_s += own_s + costs.outside_s[job]
                    sends_s = comm_on(costs, job, count)
                    comm_s += sends_s
                    longest_s = max(longest_s, alone_of(costs, job, own_s, sends_s))
                    memory += costs.memory_bytes[job] + count * costs.fixed_bytes[job]
                    work_s += work_of(costs, job)
            if memory <= count * memory_limit:
                worth[chosen, count] = machine_worth(
                    cpu_s, comm_s, longest_s, count, cpu_weight, work_s
                )
    return worth


@njit(cache=True)
def _best_partitions(worth: Floats) -> tuple[Floats, Ints, Ints]:
    """`[set, m]`: the best worth with exactly these jobs on at most m machines (-infinity: none),
    and the group of its first job: its set and its machines.
    """
    best = np.full(worth.shape, -np.inf)
    chosen, counts = np.zeros(worth.shape, np.int64), np.zeros(worth.shape, np.int64)
    best[0] = 0.0
    machines = worth.shape[1] - 1
    for jobs in range(1, len(worth)):
        first = jobs & -jobs
        others = jobs ^ first
        rest = others
        while True:  # Every subset of the others, to be left to other groups.
            group = jobs ^ rest
            for count in range(1, machines + 1):
                if worth[group, count] == -np.inf:
                    continue
                for total in range(count, machines + 1):
                    value = worth[group, count] + best[rest, total - count]
                    if value > best[jobs, total]:
                        best[jobs, total] = value
                        chosen[jobs, total], counts[jobs, total] = group, count
            if rest == 0:
                break
            rest = (rest - 1) & others
    return best, chosen, counts


def _traced(jobs: int, machines: int, chosen: Ints, counts: Ints) -> Grouping:
    groups = []
    while jobs:
        group, count = int(chosen[jobs, machines]), int(counts[jobs, machines])
        members = tuple(row for row in range(group.bit_length()) if group >> row & 1)
        groups.append(JobGroup(members, count))
        jobs, machines = jobs ^ group, machines - count
    return Grouping(tuple(groups))
