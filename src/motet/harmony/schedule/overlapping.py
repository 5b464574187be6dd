"""Which jobs of the groups of a decision train asynchronously.

How a job trains changes when it starts. A job that keeps its machines starts again there for that
alone if its group does so much more work until its first job ends that this outweighs what the jobs
that start again miss meanwhile. In a group with a job that is not measured yet no job changes: what
fills its gaps is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from motet.domain.arrays import Bools
from motet.harmony.asynchronous import switched_jobs, work_per_second, worth_of_iterations
from motet.harmony.problem import GroupingProblem, JobGroup
from motet.harmony.regrouping import LEAST_BENEFIT
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
    job is switched, and none is switched back.
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
            may = {job for job in group.jobs if is_permitted[job]}
            kept = frozenset(job for job in group.jobs if found[job])
            now = kept | switched_jobs(problem, group, may - stays, efficiency, kept)
            anew = switched_jobs(problem, group, may, efficiency)
            again = (now ^ anew) & stays
            if again and _is_worth(scene, problem, group, efficiency, now, anew, again):
                now = anew
            found[list(group.jobs)] = [job in now for job in group.jobs]
    return found


def _is_worth(
    scene: Scene,
    problem: GroupingProblem,
    group: JobGroup,
    efficiency: float,
    now: Collection[int],
    anew: Collection[int],
    again: Collection[int],
) -> bool:
    """Whether the jobs `again` should start again on their machines, so that the asynchronous jobs
    of the group are those of `anew` instead of those of `now`.

    Like moves of jobs, that takes 5 % more work per second, and costs nothing while the time of a
    start or the end of every job is unknown.
    """
    before = work_per_second(problem, group, efficiency, now)
    gained = work_per_second(problem, group, efficiency, anew) - before
    if gained <= LEAST_BENEFIT * before:
        return False
    if scene.seconds_left is None:
        return True
    left_s = scene.seconds_left[list(group.jobs)]
    if not (left_s > 0).any():  # Unknown, or the predictions have passed.
        return True
    worth = worth_of_iterations(problem, group, efficiency, now)
    missed = before * sum(worth[job] for job in again) / sum(worth.values())
    return gained * float(left_s[left_s > 0].min()) > missed * scene.move_s
