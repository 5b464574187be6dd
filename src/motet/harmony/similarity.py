"""Waiting jobs that can replace a job that has ended: one alone, or several in sum (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.2: similar are jobs whose iteration times, and whose
ratios of COMP to COMM, differ by at most 5 %; for several jobs, the sums of their times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup

SIMILAR = 0.05
"""Relative difference of times and of ratios up to which jobs are similar."""
_MOST_SETS = 20_000
"""Sets of waiting jobs whose ratio is examined, small ones first."""


def distance(one: SubtaskTimes, other: SubtaskTimes) -> float:
    """The larger one of the relative differences of iteration time and ratio COMP / COMM.

    Infinite if only one of both communicates; `one` is the reference.
    """
    off = abs(other.iteration_s / one.iteration_s - 1)
    if one.comm_s == 0 or other.comm_s == 0:
        return off if one.comm_s == other.comm_s else math.inf
    ratio = (other.comp_s / other.comm_s) / (one.comp_s / one.comm_s)
    return max(off, abs(ratio - 1))


def best_match(
    problem: GroupingProblem, group: JobGroup, ended: int, waiting: Sequence[int]
) -> tuple[int, ...]:
    """The most similar waiting job, the first of equal ones; empty if none is similar and fits."""
    reference = _taken(problem, ended, group.machines)
    distances = [distance(reference, _taken(problem, job, group.machines)) for job in waiting]
    similar = [
        (off, place, job)
        for place, (off, job) in enumerate(zip(distances, waiting, strict=True))
        if off <= SIMILAR and _fits(problem, group, ended, (job,))
    ]
    return (min(similar)[2],) if similar else ()


def matching_set(
    problem: GroupingProblem, group: JobGroup, ended: int, waiting: Sequence[int]
) -> tuple[int, ...]:
    """A smallest set of at least two waiting jobs that is similar in sum; empty if there is none
    among the first 20,000 sets of about this time. Long jobs are tried first.
    """
    reference = _taken(problem, ended, group.machines)
    times = {job: _taken(problem, job, group.machines) for job in waiting}
    longest_first = sorted(waiting, key=lambda job: -times[job].iteration_s)
    least_s, most_s = (reference.iteration_s * (1 + sign * SIMILAR) for sign in (-1, 1))
    sets = (
        chosen
        for size in range(2, len(waiting) + 1)
        for chosen in _sets_within(longest_first, times, size, least_s, most_s)
    )
    for chosen in islice(sets, _MOST_SETS):
        total = _sum_of([times[job] for job in chosen])
        if distance(reference, total) <= SIMILAR and _fits(problem, group, ended, chosen):
            return chosen
    return ()


def _sets_within(
    longest_first: Sequence[int],
    times: Mapping[int, SubtaskTimes],
    size: int,
    least_s: float,
    most_s: float,
) -> Iterator[tuple[int, ...]]:
    """Sets of `size` jobs whose iteration times add up to at least and at most this."""
    for place, job in enumerate(longest_first):
        own_s = times[job].iteration_s
        if own_s * size < least_s:
            return  # All jobs from here on are too short.
        if own_s > most_s:
            continue
        if size == 1:
            yield (job,)
            continue
        rest = longest_first[place + 1 :]
        for others in _sets_within(rest, times, size - 1, least_s - own_s, most_s - own_s):
            yield (job, *others)


def _taken(problem: GroupingProblem, job: int, machines: int) -> SubtaskTimes:
    """What it takes of the machines: of several jobs, gaps do not add up, and overlaps neither."""
    return problem.times(job, machines)._replace(gap_s=0.0, overlaps=False)


def _sum_of(times: Sequence[SubtaskTimes]) -> SubtaskTimes:
    return SubtaskTimes(sum(each.comp_s for each in times), sum(each.comm_s for each in times))


def _fits(problem: GroupingProblem, group: JobGroup, ended: int, new: Sequence[int]) -> bool:
    jobs = tuple({*group.jobs, *new} - {ended})
    return problem.fits(Grouping((JobGroup(jobs, group.machines),)))
