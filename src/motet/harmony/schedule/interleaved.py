"""Harmony's groups at a decision: profiling, the first grouping, arrivals and ends.

Source: W.-Y. Lee, dissertation, section 4.3.2. Until all jobs that started first are profiled, they
run on few machines each; then all of them are grouped. Afterwards arrivals and ends change as few
groups as possible (`motet.harmony.regrouping`).

Departures: a group all of whose jobs have ended leaves no times by which to replace them, so its
machines go to waiting jobs. Jobs that wait get idle machines however little that helps, because no
running job moves.
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.harmony.baselines import isolated_grouping
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup
from motet.harmony.regrouping import (
    IsWorth,
    Search,
    after_arrival,
    after_end,
    after_release,
    regroup_part,
)
from motet.harmony.schedule.held_groups import GroupPlan, HeldGroup, Scene
from motet.harmony.schedule.moves import MoveCost
from motet.harmony.schedule.profiling_turn import beside_former_mates, with_new_jobs


def interleaved_schedule(scene: Scene, search: Search, repair: Search) -> GroupPlan:
    """The groups from now on. `search`: of the first groups; `repair`: of later ones."""
    new = [job for job in scene.order if not scene.is_profiled[job]]
    if not scene.is_settled.any():
        starting = _first_schedule(scene, new, search)
        if starting is not None:
            return starting
    reserved = _only_profiling(scene)
    machines = len(scene.machines) - sum(group.machines for group in reserved)
    grouping = _settled_groups(scene, machines, repair, MoveCost(scene).is_worth)
    strays = [job for job in _running_in_order(scene, new) if _is_beside_profiled(scene, job)]
    grouping = Grouping((*grouping.groups, *reserved))
    grouping, homeless = beside_former_mates(scene, grouping, strays)
    waiting = [job for job in new if job not in scene.running]
    grouping = with_new_jobs(scene, grouping, [*homeless, *waiting])
    return GroupPlan(grouping.groups, scene.is_profiled)


def _first_schedule(scene: Scene, new: Sequence[int], search: Search) -> GroupPlan | None:
    """Before the first grouping; None as soon as it does not apply any more.

    Once all running jobs are profiled, all profiled jobs are grouped.
    """
    is_measuring = any(job in scene.running for job in new)
    profiled = [job for job in scene.order if scene.is_profiled[job]]
    if is_measuring or not profiled:
        waiting = [job for job in new if job not in scene.running]
        grouping = with_new_jobs(scene, scene.present(), waiting)
        return GroupPlan(grouping.groups, scene.is_settled)
    problem = scene.problem(len(scene.machines))
    order = _searched(scene, profiled)
    grouping = _never_nothing(
        problem, order, regroup_part(problem, order, problem.machines, search)
    )
    grouping = with_new_jobs(scene, grouping, new)
    return GroupPlan(grouping.groups, scene.is_profiled)


def _settled_groups(scene: Scene, machines: int, search: Search, is_worth: IsWorth) -> Grouping:
    """Groups of profiled jobs after all ends and arrivals since the last decision."""
    if not machines:  # All of them measure jobs.
        return Grouping()
    settled = [_settled_part(group, scene) for group in scene.held]
    groups = [group for group in settled if group.jobs]
    ended = [group for group in groups if group.ended is not None]
    virtual = {
        group.jobs: len(scene) + place for place, group in enumerate(ended)
    }  # The ended jobs of a group as one more job, with its times on one machine.
    more = [
        group.ended._replace(comp_s=group.ended.comp_s * len(group.machines))
        for group in ended
        if group.ended is not None
    ]
    problem = scene.problem(machines, more)
    grouping = Grouping(
        tuple(
            JobGroup(
                (*group.jobs, *([virtual[group.jobs]] if group.jobs in virtual else [])),
                len(group.machines),
            )
            for group in groups
        )
    )
    for job in virtual.values():
        if job not in grouping.jobs:  # The repair of another group dropped it.
            continue
        waiting = _waiting(scene, grouping)
        grouping = after_end(problem, grouping, job, waiting, search, is_worth).grouping
    for job in scene.order:
        if scene.is_profiled[job] and not scene.is_settled[job]:
            others = [each for each in _waiting(scene, grouping) if each != job]
            grouping = after_arrival(problem, grouping, job, others, search).grouping
    if problem.machines > grouping.machines:
        waiting = _waiting(scene, grouping, also_new=True)
        grouping = after_release(problem, grouping, waiting, search, is_worth).grouping
    return _never_nothing(problem, _waiting(scene, grouping, also_new=True), grouping)


def _never_nothing(
    problem: GroupingProblem, waiting: Sequence[int], grouping: Grouping
) -> Grouping:
    """If the search lets no job run, the first one that has memory runs alone."""
    if grouping.groups:
        return grouping
    for job in waiting:
        alone = regroup_part(problem, [job], problem.machines, isolated_grouping)
        if alone.groups:
            return alone
    return grouping


def _waiting(scene: Scene, grouping: Grouping, *, also_new: bool = False) -> list[int]:
    """Profiled jobs outside all groups, as searched; `also_new`: those of this decision, too."""
    inside = set(grouping.jobs)
    known = scene.is_profiled if also_new else scene.is_settled
    return _searched(scene, [job for job in scene.order if known[job] and job not in inside])


def _searched(scene: Scene, jobs: Sequence[int]) -> list[int]:
    """In the order of the source: profiled, paused, running."""
    settled, running = scene.is_settled, scene.running
    return sorted(jobs, key=lambda job: (job in running, bool(settled[job])))


def _only_profiling(scene: Scene) -> list[JobGroup]:
    """Groups all of whose jobs are to be measured; they keep their machines."""
    return [
        JobGroup(group.jobs, len(group.machines))
        for group in scene.held
        if not any(scene.is_profiled[job] for job in group.jobs)
    ]


def _settled_part(group: HeldGroup, scene: Scene) -> HeldGroup:
    return group._replace(jobs=tuple(job for job in group.jobs if scene.is_settled[job]))


def _running_in_order(scene: Scene, jobs: Sequence[int]) -> list[int]:
    return [job for job in jobs if job in scene.running]


def _is_beside_profiled(scene: Scene, job: int) -> bool:
    group = next(each for each in scene.held if job in each.jobs)
    return any(scene.is_profiled[each] for each in group.jobs)
