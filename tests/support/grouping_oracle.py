"""The best grouping of few jobs, by trying every subset, partition and division of machines."""

from __future__ import annotations

from collections.abc import Iterator

from motet.harmony.problem import Grouping, GroupingProblem, JobGroup


def every_grouping(jobs: int, machines: int) -> Iterator[Grouping]:
    """All groupings that use every machine."""
    for members in _partitions(list(range(jobs))):
        for counts in _divisions(machines, len(members)):
            pairs = zip(members, counts, strict=True)
            yield Grouping(tuple(JobGroup(tuple(own), count) for own, count in pairs))


def best_score(problem: GroupingProblem) -> float:
    """The highest scalar U of the groupings that fit; 0 if none fits.

    A machine that is idle in a grouping without others is worth 0, so fewer machines never help
    unless memory leaves no other choice; then some grouping of fewer machines is tried too.
    """
    groupings = (
        grouping
        for machines in range(1, problem.machines + 1)
        for grouping in every_grouping(len(problem), machines)
    )
    return max((problem.score(each) for each in groupings if problem.fits(each)), default=0.0)


def _partitions(jobs: list[int]) -> Iterator[list[list[int]]]:
    """Every way to put some of the jobs into groups."""
    if not jobs:
        yield []
        return
    first, *rest = jobs
    for groups in _partitions(rest):
        yield groups
        yield [[first], *groups]
        for place in range(len(groups)):
            yield [*groups[:place], [first, *groups[place]], *groups[place + 1 :]]


def _divisions(machines: int, groups: int) -> Iterator[tuple[int, ...]]:
    """Every way to give each group at least one of the machines."""
    if groups <= 1:
        if groups == 1 and machines >= 1:
            yield (machines,)
        return
    for first in range(1, machines - groups + 2):
        for rest in _divisions(machines - first, groups - 1):
            yield (first, *rest)
