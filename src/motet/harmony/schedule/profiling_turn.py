"""Jobs without a profile: they run beside others until they have been measured."""

from __future__ import annotations

from collections.abc import Sequence

from motet.harmony.problem import Grouping, JobGroup
from motet.harmony.profiling import first_groups, group_for_profiling
from motet.harmony.schedule.held_groups import Scene


def beside_former_mates(
    scene: Scene, grouping: Grouping, jobs: Sequence[int]
) -> tuple[Grouping, list[int]]:
    """Put running jobs without a profile into the group that has most of the jobs beside which
    they ran. Also returns those that found none, or no memory there.
    """
    groups, left = list(grouping.groups), list[int]()
    for job in jobs:
        mates = next(set(each.jobs) for each in scene.held if job in each.jobs)
        shared = [len(mates & set(group.jobs)) for group in groups]
        place = max(range(len(groups)), key=lambda each: (shared[each], -each), default=-1)
        wider = _joined(groups[place], job) if place >= 0 and shared[place] else None
        if wider is not None and _fits(scene, wider):
            groups[place] = wider
        else:
            left.append(job)
    return Grouping(tuple(groups)), left


def with_new_jobs(scene: Scene, grouping: Grouping, jobs: Sequence[int]) -> Grouping:
    """Start jobs without a profile: on idle machines, as few as their memory allows, else in the
    group for profiling; jobs for which there is no memory wait.
    """
    costs, limit = scene.costs, scene.machine_memory_bytes
    idle = len(scene.machines) - grouping.machines
    own = first_groups(costs.rows(jobs), idle, limit) if idle else Grouping()
    started = tuple(
        JobGroup(tuple(sorted(jobs[place] for place in group.jobs)), group.machines)
        for group in own.groups
    )
    groups = Grouping((*grouping.groups, *started))
    profiling = {job for job in range(len(scene)) if not scene.is_profiled[job]}
    placed = set(groups.jobs)
    for job in jobs:
        if job in placed:
            continue
        group = group_for_profiling(groups, costs, limit, job, profiling)
        if group is not None:
            groups = Grouping(
                tuple(_joined(each, job) if each == group else each for each in groups.groups)
            )
    return groups


def _joined(group: JobGroup, job: int) -> JobGroup:
    return JobGroup(tuple(sorted((*group.jobs, job))), group.machines)


def _fits(scene: Scene, group: JobGroup) -> bool:
    needed = scene.costs.bytes_on(group.jobs, group.machines)
    return needed <= group.machines * scene.machine_memory_bytes
