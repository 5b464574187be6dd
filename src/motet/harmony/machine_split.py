"""How many groups, and how many machines for each of them (Harmony, section 4.3.2)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.harmony.problem import JobCosts, alone_of, comm_on, machine_worth, work_of


@njit(cache=True)
def balanced_group_count(costs: JobCosts, machines: int) -> int:
    """n_G: the number of groups whose common DoP, machines / n_G, balances COMP and COMM best.

    It minimises sum |T_cpu(n_G) - T_net| over 1 to min(jobs, machines); the smallest such number.
    The sum is convex in n_G, so the first number after which it does not fall is found by halving.
    """
    low, high = 1, max(1, min(len(costs.comm_s), machines))
    while low < high:
        middle = (low + high) // 2
        if _imbalance_s(costs, machines, middle + 1) < _imbalance_s(costs, machines, middle):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _imbalance_s(costs: JobCosts, machines: int, group_count: int) -> float:
    total_s = 0.0
    for row in range(len(costs.comm_s)):
        cpu_s, comm_s = subtasks_in_groups(costs, row, group_count, machines)
        total_s += abs(cpu_s - comm_s)
    return total_s


@njit(cache=True, inline="always")
def subtasks_in_groups(
    costs: JobCosts, row: int, group_count: int, machines: int
) -> tuple[float, float]:
    """Seconds of CPU and of COMM of a job, at the common DoP of so many groups."""
    comp_s = costs.divided_s[row] * group_count / machines + costs.constant_s[row]
    return comp_s + costs.outside_s[row], comm_on(costs, row, machines / group_count)


@njit(cache=True)
def evened_group_count(costs: JobCosts, machines: int) -> int:
    """The number of groups with whose common DoP the sums of COMP and COMM over all jobs are equal,
    within 1 to min(jobs, machines).
    """
    most = min(len(costs.comm_s), machines)
    shared_s = costs.comm_s.sum() - costs.constant_s.sum() - costs.outside_s.sum()
    divided_s = costs.divided_s.sum() + costs.local_s.sum()
    if shared_s * machines >= divided_s * most:
        return max(1, most)
    return int(max(1, round(shared_s * machines / divided_s)))


@njit(cache=True)
def least_machines(
    costs: JobCosts, group_of: Ints, group_count: int, machines: int, memory_limit: float
) -> Ints:
    """On how many machines each group fits, at least 1; above `machines` if on none of them."""
    divided, fixed = np.zeros(group_count), np.zeros(group_count)
    for row in range(len(group_of)):
        divided[group_of[row]] += costs.memory_bytes[row]
        fixed[group_of[row]] += costs.fixed_bytes[row]
    least = np.ones(group_count, np.int64)
    for group in range(group_count):
        room = memory_limit - fixed[group]
        if divided[group] > machines * room:
            least[group] = machines + 1
        elif divided[group] > room:
            least[group] = int(np.ceil(divided[group] / room))
    return least


@njit(cache=True)
def split_machines(
    costs: JobCosts, group_of: Ints, least: Ints, machines: int, is_relative: bool
) -> Ints:
    """Machines of each group: the `least` ones, one each in the source, then one at a time to the
    most computation-bound group at its present number (ties: the lower group).

    That is the group with the largest sum T_cpu - sum T_net, as in the source, or, if
    `is_relative`, the largest sum T_cpu / sum T_net, so that groups of short jobs count alike.
    """
    group_count = len(least)
    divided_s, constant_s = np.zeros(group_count), np.zeros(group_count)
    comm_s = np.zeros(group_count)
    for row in range(len(group_of)):
        divided_s[group_of[row]] += costs.divided_s[row]
        constant_s[group_of[row]] += costs.constant_s[row] + costs.outside_s[row]
        comm_s[group_of[row]] += costs.comm_s[row]
        if len(costs.local_s):
            divided_s[group_of[row]] += costs.local_s[row]
    # A group's need on m machines is need / m + rest.
    scale = np.maximum(comm_s, 1e-300) if is_relative else np.ones(group_count)
    need, rest = divided_s / scale, (constant_s - comm_s) / scale
    counts = least.copy()
    heap = [(-(need[group] / counts[group] + rest[group]), group) for group in range(group_count)]
    heapify(heap)
    for _ in range(machines - counts.sum()):
        _, group = heappop(heap)
        counts[group] += 1
        heappush(heap, (-(need[group] / counts[group] + rest[group]), group))
    return counts


@njit(cache=True)
def worths(
    costs: JobCosts, group_of: Ints, counts: Ints, memory_limit: float, cpu_weight: float
) -> Floats:
    """Machines times scalar utilisation of each group; -infinity where its memory does not fit."""
    cpu_s, comm_s = np.zeros(len(counts)), np.zeros(len(counts))
    longest_s, memory = np.zeros(len(counts)), np.zeros(len(counts))
    work_s = np.zeros(len(counts))
    for row in range(len(group_of)):
        group = group_of[row]
        if group < 0:
            continue
        own_s = costs.divided_s[row] / counts[group] + costs.constant_s[row]
        cpu_s[group] += own_s + costs.outside_s[row]
        sends_s = comm_on(costs, row, counts[group])
        comm_s[group] += sends_s
        longest_s[group] = max(longest_s[group], alone_of(costs, row, own_s, sends_s))
        memory[group] += costs.memory_bytes[row] + counts[group] * costs.fixed_bytes[row]
        work_s[group] += work_of(costs, row)
    worth = np.full(len(counts), -np.inf)
    for group in range(len(counts)):
        if memory[group] <= counts[group] * memory_limit:
            worth[group] = machine_worth(
                cpu_s[group],
                comm_s[group],
                longest_s[group],
                counts[group],
                cpu_weight,
                work_s[group],
            )
    return worth
