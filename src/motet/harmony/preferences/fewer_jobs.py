"""Fewer jobs at nearly the same use: jobs whose share in it is small wait (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.2: few jobs per group are preferred, for shorter
completion times and less memory. By how much U may fall for that is not stated there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from motet.domain.arrays import Bools, Floats, Ints
from motet.harmony.problem import Grouping, GroupingProblem, comms_on, grouping_of

_NO_JOB = -1.0


def with_fewer_jobs(problem: GroupingProblem, grouping: Grouping, tolerance: float) -> Grouping:
    """Drop one job after the other, each time the one whose loss lowers U least, while U stays
    within this relative tolerance. A group keeps at least one job, and all of its machines.
    """
    if not grouping.groups:
        return grouping
    jobs = np.array([job for group in grouping.groups for job in group.jobs])
    group_of = np.repeat(
        np.arange(len(grouping.groups)), [len(group.jobs) for group in grouping.groups]
    )
    machines = np.array([group.machines for group in grouping.groups], dtype=np.float64)
    times = _times(problem, jobs, machines[group_of])
    work_s = problem.costs.work_s[jobs] if len(problem.costs.work_s) else np.zeros(0)
    least = problem.score(grouping) * (1 - tolerance) * problem.machines
    kept = np.ones(len(jobs), dtype=np.bool_)
    while kept.sum() > len(machines):
        worth = _worth_without_each(*times, work_s, kept, group_of, machines, problem.cpu_weight)
        is_last = np.bincount(group_of[kept], minlength=len(machines))[group_of] == 1
        worth[~kept | is_last] = _NO_JOB
        dropped = int(worth.argmax())
        if worth[dropped] < least:
            break
        kept[dropped] = False
    rows = np.full(len(problem), -1)
    rows[jobs[kept]] = group_of[kept]
    return grouping_of(rows.tolist(), [group.machines for group in grouping.groups])


def preferring_fewer_jobs(
    search: Callable[[GroupingProblem], Grouping], tolerance: float
) -> Callable[[GroupingProblem], Grouping]:
    """A search, and then fewer jobs."""

    def found(problem: GroupingProblem) -> Grouping:
        return with_fewer_jobs(problem, search(problem), tolerance)

    return found


def _times(problem: GroupingProblem, jobs: Ints, machines: Floats) -> tuple[Floats, Floats, Floats]:
    """COMP, COMM and the use of the CPU."""
    costs = problem.costs.rows(jobs.tolist())
    comp_s = costs.divided_s / machines + costs.constant_s
    return comp_s, comms_on(costs, machines), comp_s + costs.outside_s


def _worth_without_each(
    comp_s: Floats,
    comm_s: Floats,
    cpu_s: Floats,
    work_s: Floats,
    kept: Bools,
    group_of: Ints,
    machines: Floats,
    cpu_weight: float,
) -> Floats:
    """`(jobs,)`: machines times use of all groups without this job."""
    size = len(machines)
    alone_s = np.where(kept, comp_s + comm_s, 0.0)
    is_longest = np.zeros(len(comp_s), dtype=np.bool_)
    by_length = np.lexsort((-alone_s, group_of))  # The first of each group is its longest job.
    is_longest[by_length[np.unique(group_of[by_length], return_index=True)[1]]] = True
    first, second = np.zeros(size), np.zeros(size)
    np.maximum.at(first, group_of, alone_s)
    np.maximum.at(second, group_of, np.where(is_longest, 0.0, alone_s))
    used_s = cpu_weight * cpu_s + (1 - cpu_weight) * comm_s
    done_s = work_s if len(work_s) else machines[group_of] * used_s
    cpu_sum, comm_sum, done_sum = np.zeros(size), np.zeros(size), np.zeros(size)
    np.add.at(cpu_sum, group_of, cpu_s * kept)
    np.add.at(comm_sum, group_of, comm_s * kept)
    np.add.at(done_sum, group_of, done_s * kept)

    def worth(cpu: Floats, comm: Floats, longest: Floats, done: Floats, most: Floats) -> Floats:
        group_s = np.maximum(np.maximum(cpu, comm), longest)
        found: Floats = np.where(group_s > 0, done / np.maximum(group_s, 1e-300), 0.0)
        return np.minimum(found, most)

    present = worth(cpu_sum, comm_sum, first, done_sum, machines)
    longest = np.where(is_longest, second[group_of], first[group_of])
    left = cpu_sum[group_of] - cpu_s, comm_sum[group_of] - comm_s
    without = worth(*left, longest, done_sum[group_of] - done_s, machines[group_of])
    total: Floats = present.sum() - present[group_of] + without
    return total
