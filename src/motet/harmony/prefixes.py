"""Algorithm 1 of Harmony: group the first n jobs, for growing n.

Source: W.-Y. Lee, dissertation, section 4.3.2. For n = 1, 2, ...: the number of groups that
balances COMP and COMM best, Algorithm 2, machines one at a time. The search ends with the first n
that does not raise U; U is compared as a scalar (`GroupingProblem.cpu_weight`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.harmony.assignment import assign_jobs
from motet.harmony.machine_split import (
    balanced_group_count,
    split_machines,
    subtasks_in_groups,
    worths,
)
from motet.harmony.problem import (
    OUTSIDE,
    Grouping,
    GroupingProblem,
    JobCosts,
    grouping_of,
)


class Candidate(NamedTuple):
    """`group_of`: by row, OUTSIDE for jobs that do not run; `counts`: machines by group; `score`:
    the scalar utilisation, -infinity if a group lacks memory.
    """

    group_of: Ints
    counts: Ints
    score: float


def paper_grouping(problem: GroupingProblem) -> Grouping:
    """Algorithms 1 and 2 to the letter.

    A grouping with a group that lacks memory counts as no improvement.
    """
    found = _first_peak(
        problem.costs, problem.machines, problem.machine_memory_bytes, problem.cpu_weight
    )
    return grouping_of(found.group_of.tolist(), found.counts.tolist())


@njit(cache=True)
def _first_peak(
    costs: JobCosts, machines: int, memory_limit: float, cpu_weight: float
) -> Candidate:
    """The grouping of the first n jobs, for the first n after which U does not rise."""
    best = nothing(len(costs.comm_s))
    is_relative = bool(np.bool_(False))  # Of a literal, Numba compiles `split_machines` once more.
    for size in range(1, len(costs.comm_s) + 1):
        prefix = first_rows(costs, size)
        group_count = balanced_group_count(prefix, machines)
        group_of = assigned(prefix, group_count, machines)
        one_each = np.ones(group_count, np.int64)
        counts = split_machines(prefix, group_of, one_each, machines, is_relative)
        score = worths(prefix, group_of, counts, memory_limit, cpu_weight).sum() / machines
        if score <= best.score:
            break
        best = Candidate(group_of, counts, score)
    return widened(best, len(costs.comm_s))


@njit(cache=True)
def nothing(jobs: int) -> Candidate:
    """No job runs."""
    return Candidate(np.full(jobs, OUTSIDE), np.zeros(0, np.int64), 0.0)


@njit(cache=True)
def first_rows(costs: JobCosts, size: int) -> JobCosts:
    """The columns of the first jobs."""
    return JobCosts(
        costs.divided_s[:size],
        costs.constant_s[:size],
        costs.comm_s[:size],
        costs.memory_bytes[:size],
        costs.fixed_bytes[:size],
        costs.outside_s[:size],
        costs.work_s[:size],
        costs.local_s[:size],
        costs.gap_s[:size],
        costs.overlaps[:size],
    )


@njit(cache=True)
def assigned(costs: JobCosts, group_count: int, machines: int) -> Ints:
    """The group of each job by Algorithm 2, at the DoP machines / groups."""
    comp_s, comm_s = np.empty(len(costs.comm_s)), np.empty(len(costs.comm_s))
    for row in range(len(comp_s)):
        comp_s[row], comm_s[row] = subtasks_in_groups(costs, row, group_count, machines)
    return assign_jobs(comp_s, comm_s, group_count)


@njit(cache=True)
def widened(found: Candidate, jobs: int) -> Candidate:
    """A grouping of the first jobs as one of all `jobs`, the others of which do not run."""
    group_of = np.full(jobs, OUTSIDE)
    # A loop: for an array assigned to a slice, each process compiles an error message.
    for job in range(len(found.group_of)):
        group_of[job] = found.group_of[job]
    return Candidate(group_of, found.counts, found.score)
