"""Where jobs without a profile run to get one (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.2, "Profiling". At first as many jobs as possible run,
each on as few machines as possible. Later a new job joins a group that already profiles another
job, or else the group with the fewest machines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from motet.harmony.problem import Grouping, JobCosts, JobGroup


def first_groups(costs: JobCosts, machines: int, machine_memory_bytes: float) -> Grouping:
    """Groups of jobs in an empty cluster, before any is profiled; only their memory counts.

    Jobs that need few machines for their memory come first. Each gets as many machines; without a
    free machine it joins the group with the fewest jobs that has memory for it, or waits.
    """
    groups: list[JobGroup] = []
    free = machines
    least = [costs.least_machines(job, machine_memory_bytes) for job in range(len(costs.comm_s))]
    needed = costs.memory_bytes.tolist()
    for job in sorted(range(len(needed)), key=lambda job: (least[job], needed[job], job)):
        if least[job] <= free:
            groups.append(JobGroup((job,), int(least[job])))
            free -= int(least[job])
            continue
        place = _with_room(groups, costs, machine_memory_bytes, job)
        if place is not None:
            group = groups[place]
            groups[place] = JobGroup(tuple(sorted((*group.jobs, job))), group.machines)
    return Grouping(tuple(groups))


def group_for_profiling(
    grouping: Grouping,
    costs: JobCosts,
    machine_memory_bytes: float,
    job: int,
    profiling: Collection[int],
) -> JobGroup | None:
    """The group that a new job joins until it is profiled; None if none has memory for it.

    `profiling`: jobs that run without a profile.
    """
    groups = [
        group for group in grouping.groups if _has_room(group, costs, machine_memory_bytes, job)
    ]
    return min(
        groups,
        key=lambda group: (set(group.jobs).isdisjoint(profiling), group.machines, group.jobs),
        default=None,
    )


def _with_room(groups: Sequence[JobGroup], costs: JobCosts, limit: float, job: int) -> int | None:
    places = [place for place, group in enumerate(groups) if _has_room(group, costs, limit, job)]
    return min(places, key=lambda place: (len(groups[place].jobs), place), default=None)


def _has_room(group: JobGroup, costs: JobCosts, limit: float, job: int) -> bool:
    return costs.bytes_on((*group.jobs, job), group.machines) <= group.machines * limit
