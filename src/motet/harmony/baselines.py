"""Groupings that Harmony is compared with: jobs alone, and jobs together without a choice.

Source: W.-Y. Lee, dissertation, section 4.4.1. *Isolated* allocates disjoint machines to each job
so that the CPU is used most. *Naively co-located* combines jobs without looking at their times; the
source tries all combinations and reports the best and the worst one.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

from motet.domain.errors import BadInput
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup


def isolated_grouping(problem: GroupingProblem) -> Grouping:
    """A group per job, in the order of the rows, while there are machines for its memory; further
    machines go, one at a time, where they raise the use of the CPUs of the cluster most.

    A job on m machines keeps m COMP / (COMP + COMM) of them busy, which is concave in m, so the
    division of machines is the best one for these jobs.
    """
    counts: dict[int, int] = {}
    free = problem.machines
    for job in range(len(problem)):
        least = problem.costs.least_machines(job, problem.machine_memory_bytes)
        if least <= free:
            counts[job] = int(least)
            free -= counts[job]
    heap = [(-_gain(problem, job, count), job) for job, count in counts.items()]
    heapify(heap)
    for _ in range(free if heap else 0):
        job = heap[0][1]
        counts[job] += 1
        heapreplace(heap, (-_gain(problem, job, counts[job]), job))
    return Grouping(tuple(JobGroup((job,), count) for job, count in counts.items()))


def naive_grouping(problem: GroupingProblem, group_count: int, order: Sequence[int]) -> Grouping:
    """Jobs dealt to groups one after the other, and machines divided evenly.

    `order`: of the rows, for example a random one. A job without enough memory in its group waits.
    Raises BadInput for more groups than machines or none.
    """
    if not 1 <= group_count <= problem.machines:
        raise BadInput(f"group_count={group_count}: must be within 1 and {problem.machines}")
    share, more = divmod(problem.machines, group_count)
    groups = [JobGroup((), share + (place < more)) for place in range(group_count)]
    for turn, job in enumerate(order):
        place = turn % group_count
        wider = JobGroup((*groups[place].jobs, job), groups[place].machines)
        if problem.fits(Grouping((wider,))):
            groups[place] = wider
    return Grouping(
        tuple(JobGroup(tuple(sorted(each.jobs)), each.machines) for each in groups if each.jobs)
    )


def _gain(problem: GroupingProblem, job: int, machines: int) -> float:
    """How many more CPUs are busy with one more machine."""
    return _busy_cpus(problem, job, machines + 1) - _busy_cpus(problem, job, machines)


def _busy_cpus(problem: GroupingProblem, job: int, machines: int) -> float:
    times = problem.times(job, machines)
    return machines * times.comp_s / times.iteration_s
