"""Random jobs to group: COMP and COMM over two orders of magnitude, balanced at some DoP."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.estimate.colocation.group_time import CPU_WEIGHT
from motet.harmony.problem import GroupingProblem, JobCosts, work_column

GIB = 2.0**30


def random_problem(
    seed: int,
    jobs: int,
    machines: int,
    *,
    with_constant: bool = False,
    with_memory: bool = False,
    with_outside: bool = False,
    with_local: bool = False,
    with_gaps: bool = False,
    with_overlaps: bool = False,
    balanced_machines: float | None = None,
) -> GroupingProblem:
    """`balanced_machines`: the DoP at which the median job computes as long as it communicates."""
    rng = np.random.default_rng([seed, jobs, machines])
    comm_s = np.exp(rng.normal(3.0, 0.7, jobs))
    balance = balanced_machines or float(rng.uniform(1.0, machines + 1.0))
    divided_s = comm_s * balance * np.exp(rng.normal(0.0, 0.8, jobs))
    constant_s = 0.2 * comm_s * rng.random(jobs) * with_constant
    memory_bytes = rng.uniform(4, 60, jobs) * GIB * with_memory
    fixed_bytes = rng.uniform(0, 4, jobs) * GIB * with_memory
    outside_s = 0.3 * comm_s * rng.random(jobs) * with_outside
    costs = JobCosts(divided_s, constant_s, comm_s, memory_bytes, fixed_bytes, outside_s)
    if with_local:
        costs = costs._replace(local_s=0.9 * comm_s * rng.random(jobs))
    if with_gaps:
        costs = costs._replace(gap_s=comm_s * rng.random(jobs))
    if with_overlaps:
        costs = costs._replace(overlaps=(rng.random(jobs) < 0.5).astype(float))
    limit = 32 * GIB if with_memory else float("inf")
    return GroupingProblem(costs, machines, limit, CPU_WEIGHT)


def random_shape(seed: int, most_jobs: int = 8, most_machines: int = 8) -> tuple[int, int]:
    """Jobs and machines of a small case."""
    rng = np.random.default_rng([seed, 7])
    return int(rng.integers(2, most_jobs + 1)), int(rng.integers(1, most_machines + 1))


def counting_work(problem: GroupingProblem) -> GroupingProblem:
    """The same problem, in which groupings are compared by the work that they do."""
    work_s = work_column(
        problem.costs, problem.machines, problem.machine_memory_bytes, problem.cpu_weight
    )
    return replace(problem, costs=problem.costs._replace(work_s=work_s))
