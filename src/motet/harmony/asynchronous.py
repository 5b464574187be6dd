"""Jobs that train asynchronously where their group has too few others to fill the gaps (Harmony).

Source: W.-Y. Lee, dissertation, section 4.5, which names it and leaves it open. A group iteration
that is longer than the sum of COMP and the sum of COMM has gaps on both resources, since its
longest job alternates between them (the last term of eq. 4.1). Training asynchronously that job
needs max(COMP, COMM) alone. But it makes less progress in an iteration: its efficiency, a part of
that of another iteration, is given by the user of the policy. So the jobs of a group do the work

    sum w_j e_j / T_group,    e_j = the efficiency of the jobs that are switched, 1 of the others,

with the worth w_j of an iteration. Only the longest jobs bound the group, so those to be switched
are the longest ones, as many as give most work per second: none where others fill the gaps.
"""

from __future__ import annotations

from collections.abc import Collection

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.problem import GroupingProblem, JobGroup, work_of

_LEAST_GAIN = 1e-9
"""Relative: a smaller one is rounding."""


def switched_jobs(
    problem: GroupingProblem,
    group: JobGroup,
    may_switch: Collection[int],
    efficiency: float,
    switched: Collection[int] = (),
) -> frozenset[int]:
    """The jobs of a group that train asynchronously from their start on.

    `may_switch`: whose users permit it and whose training starts. `efficiency`: above 0 to 1. Jobs
    that overlap by choice of their users do so in `problem`. `switched`: jobs that keep their
    machines and are asynchronous; their iterations are worth the less, too.
    """
    worth = worth_of_iterations(problem, group, efficiency, switched)
    times = _times(problem, group, switched)
    longest_first = sorted(group.jobs, key=lambda job: (-times[job].iteration_s, job))
    longest_s = [*(times[job].iteration_s for job in longest_first), 0.0]
    sums_s = max(
        sum(each.cpu_s for each in times.values()), sum(each.comm_s for each in times.values())
    )
    work = sum(worth.values())
    if work <= 0:
        return frozenset()
    best, chosen, switched_s = work / max(sums_s, longest_s[0]), 0, 0.0
    for count, job in enumerate(longest_first, start=1):
        if job not in may_switch or times[job].overlaps:
            break  # It bounds the group, whatever becomes of shorter ones.
        work -= worth[job] * (1 - efficiency)
        switched_s = max(switched_s, times[job]._replace(overlaps=True).iteration_s)
        rate = work / max(sums_s, switched_s, longest_s[count])
        if rate > best * (1 + _LEAST_GAIN):
            best, chosen = rate, count
    return frozenset(longest_first[:chosen])


def worth_of_iterations(
    problem: GroupingProblem, group: JobGroup, efficiency: float, switched: Collection[int]
) -> dict[int, float]:
    """What an iteration of each job of a group is worth; of `switched` ones it is less."""
    found = {}
    for job in group.jobs:
        own_s = problem.times(job, group.machines).iteration_s
        found[job] = work_of(problem.costs, job) or own_s
    return found | {job: found[job] * efficiency for job in switched}


def work_per_second(
    problem: GroupingProblem, group: JobGroup, efficiency: float, switched: Collection[int]
) -> float:
    """Of a group of which these jobs are asynchronous by choice of the policy; 0 without work."""
    work = sum(worth_of_iterations(problem, group, efficiency, switched).values())
    times = _times(problem, group, switched).values()
    sums_s = sum(each.cpu_s for each in times), sum(each.comm_s for each in times)
    return work / max(*sums_s, *(each.iteration_s for each in times)) if work else 0.0


def _times(
    problem: GroupingProblem, group: JobGroup, switched: Collection[int]
) -> dict[int, SubtaskTimes]:
    """Of the jobs of a group, these ones asynchronous."""
    plain = {job: problem.times(job, group.machines) for job in group.jobs}
    return plain | {job: plain[job]._replace(overlaps=True) for job in switched}
