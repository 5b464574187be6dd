"""The use of CPU and network if one more job ran: why a job waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Floats
from motet.estimate.colocation.group_time import utilisation_of
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.schedule.held_groups import Scene


def uses_with_jobs(scene: Scene, groups: Sequence[JobGroup]) -> tuple[float, Floats]:
    """The scalar use of all machines by these groups, and `(jobs,)` with each waiting profiled job
    in the group where it raises that most; NaN for other jobs, and if no group has memory for it.
    """
    found = np.full(len(scene), np.nan)
    if not scene.machines:
        return float("nan"), found
    problem = scene.problem(len(scene.machines))
    present = problem.score(Grouping(tuple(groups)))
    inside = {job for group in groups for job in group.jobs}
    worth = [_worth(problem, group) for group in groups]
    for job in range(len(scene)):
        if job in inside or not scene.is_profiled[job]:
            continue
        for group, before in zip(groups, worth, strict=True):
            wider = JobGroup((*group.jobs, job), group.machines)
            if problem.fits(Grouping((wider,))):
                gained = (_worth(problem, wider) - before) / problem.machines
                found[job] = np.fmax(found[job], present + gained)
    return present, found


def _worth(problem: GroupingProblem, group: JobGroup) -> float:
    """Machines times their use."""
    times = [problem.times(job, group.machines) for job in group.jobs]
    return group.machines * utilisation_of(times).scalar(problem.cpu_weight)
