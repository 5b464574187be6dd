"""The use of CPU and network if one more job ran: why a job waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Floats
from motet.harmony.problem import Grouping, JobGroup
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
    worth = [problem.worth(group) for group in groups]
    for job in range(len(scene)):
        if job in inside or not scene.is_profiled[job]:
            continue
        for group, before in zip(groups, worth, strict=True):
            wider = JobGroup((*group.jobs, job), group.machines)
            if problem.fits(Grouping((wider,))):
                gained = (problem.worth(wider) - before) / problem.machines
                found[job] = np.fmax(found[job], present + gained)
    return present, found
