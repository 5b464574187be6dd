"""Which jobs of the groups of a decision train asynchronously.

How a job trains changes when it starts, and only then: a change by itself is not worth a start. So
a job that keeps its machines goes on as it is. In a group with a job that is not measured yet no
job is switched: what fills its gaps is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.domain.arrays import Bools
from motet.harmony.asynchronous import switched_jobs
from motet.harmony.problem import JobGroup
from motet.harmony.schedule.chosen_machines import MachineSet
from motet.harmony.schedule.held_groups import Scene


def asynchronous_jobs(
    scene: Scene,
    groups: Sequence[JobGroup],
    places: Sequence[MachineSet],
    is_permitted: Bools,
    was_switched: Bools,
    efficiency: float,
) -> Bools:
    """`(jobs,)`: those that train asynchronously because of this. `places`: of the groups.
    `is_permitted`: by the users; `was_switched`: at their last start. `efficiency`: 0: no other
    job is switched.
    """
    held = {job: group.machines for group in scene.held for job in group.jobs}
    stays = {
        job
        for group, place in zip(groups, places, strict=True)
        for job in group.jobs
        if held.get(job) == place
    }
    found = np.zeros(len(scene), np.bool_)
    found[sorted(stays)] = (was_switched & is_permitted)[sorted(stays)]
    if not efficiency:
        return found
    problem = scene.problem(max(len(scene.machines), 1))
    for group in groups:
        if all(scene.is_profiled[job] for job in group.jobs):
            may = {job for job in group.jobs if is_permitted[job] and job not in stays}
            kept = [job for job in group.jobs if found[job]]
            found[sorted(switched_jobs(problem, group, may, efficiency, kept))] = True
    return found
