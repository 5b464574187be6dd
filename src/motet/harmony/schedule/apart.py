"""The baselines at a decision: jobs alone on their machines, and jobs together without a choice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Floats
from motet.harmony.baselines import isolated_grouping
from motet.harmony.problem import GroupingProblem, JobCosts, JobGroup
from motet.harmony.schedule.held_groups import GroupPlan, Scene

_NO_GAIN_S = 1e-12


def isolated_schedule(scene: Scene) -> GroupPlan:
    """Every job alone: running jobs first, then in the order of submission, on as few machines as
    their memory allows; further machines where the CPUs gain most, for measured jobs.
    """
    order = sorted(scene.order, key=lambda job: job not in scene.running)
    rows = scene.costs.rows(order)
    unknown = ~scene.is_profiled[order]
    costs = JobCosts(
        _where(unknown, _NO_GAIN_S, rows.divided_s),
        rows.constant_s,
        _where(unknown, 1.0, rows.comm_s),
        rows.memory_bytes,
        rows.fixed_bytes,
        rows.outside_s,
        local_s=rows.local_s,
        gap_s=rows.gap_s,
        overlaps=rows.overlaps,
    )
    problem = GroupingProblem(
        costs, len(scene.machines), scene.machine_memory_bytes, scene.cpu_weight
    )
    found = isolated_grouping(problem)
    groups = tuple(JobGroup((order[each.jobs[0]],), each.machines) for each in found.groups)
    return GroupPlan(groups, scene.is_profiled)


def naive_schedule(scene: Scene, group_count: int, deal: Sequence[int]) -> GroupPlan:
    """Jobs in the order of `deal`, each into the group with the fewest jobs that has memory for it.

    Running jobs stay in their groups. The machines are divided evenly among `group_count` groups,
    or among fewer once no jobs are left for all of them, or none fits into such a small one.
    """
    members = [list(group.jobs) for group in scene.held]
    waiting = [job for job in deal if job not in scene.running]
    count = max(1, min(group_count, len(scene.machines), len(members) + len(waiting)))
    members = (members + [[] for _ in range(count)])[: max(count, len(members))]
    share, more = divmod(len(scene.machines), len(members))
    sizes = [share + (place < more) for place in range(len(members))]
    for job in waiting:
        fitting = [
            (len(jobs), place)
            for place, jobs in enumerate(members)
            if scene.costs.bytes_on([job, *jobs], sizes[place])
            <= sizes[place] * scene.machine_memory_bytes
        ]
        if fitting:
            members[min(fitting)[1]].append(job)
    groups = tuple(
        JobGroup(tuple(sorted(jobs)), size)
        for jobs, size in zip(members, sizes, strict=True)
        if jobs
    )
    if not groups and count > 1:  # No job fits into such a small group.
        return naive_schedule(scene, count - 1, deal)
    return GroupPlan(groups, scene.is_profiled)


def _where(rows: object, value: float, others: Floats) -> Floats:
    return np.where(np.asarray(rows), value, others)
