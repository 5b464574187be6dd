"""Algorithms 1 and 2 of Harmony once more: plain lists and loops, as they are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from motet.estimate.colocation.group_time import SubtaskTimes
from motet.harmony.problem import Grouping, GroupingProblem, JobGroup

Groups = list[list[int]]


def schedule(problem: GroupingProblem) -> Grouping:
    """Algorithm 1 with n from 1."""
    best, best_score = Grouping(), 0.0
    for size in range(1, len(problem) + 1):
        rows = range(size)
        count = min(
            range(1, min(size, problem.machines) + 1),
            key=lambda groups: sum(abs(job.imbalance_s) for job in times_of(problem, rows, groups)),
        )
        groups = assign(times_of(problem, rows, count), count)
        grouping = with_machines(problem, groups)
        score = problem.score(grouping) if problem.fits(grouping) else -math.inf
        if score <= best_score:
            return best
        best, best_score = grouping, score
    return best


def times_of(problem: GroupingProblem, rows: Sequence[int], group_count: int) -> list[SubtaskTimes]:
    """Times at the DoP machines / groups, which may be a fraction."""
    costs = problem.costs
    return [
        SubtaskTimes(
            costs.divided_s[row] * group_count / problem.machines + costs.constant_s[row],
            costs.comm_s[row],
            costs.outside_s[row],
        )
        for row in rows
    ]


def assign(jobs: Sequence[SubtaskTimes], group_count: int) -> Groups:
    """Algorithm 2 and the swaps after it."""
    left = sorted(range(len(jobs)), key=lambda row: -length_s(jobs[row]))
    groups: Groups = []
    for _ in range(group_count):
        group: list[int] = []
        while len(group) < len(jobs) // group_count:
            opposite = [row for row in left if jobs[row].imbalance_s * imbalance(jobs, group) <= 0]
            row = opposite[0] if opposite else left[0]
            left.remove(row)
            group.append(row)
        groups.append(group)
    for row in sorted(left, key=lambda row: -abs(jobs[row].imbalance_s)):
        _place(jobs, groups, row)
    while _swap(jobs, groups):
        pass
    return groups


def length_s(job: SubtaskTimes) -> float:
    """T_itr, with CPU time outside of COMP."""
    return job.cpu_s + job.comm_s


def imbalance(jobs: Sequence[SubtaskTimes], group: Sequence[int]) -> float:
    """S_diff."""
    return sum(jobs[row].imbalance_s for row in group)


def _place(jobs: Sequence[SubtaskTimes], groups: Groups, row: int) -> None:
    order = sorted(groups, key=lambda g: abs(jobs[row].imbalance_s + imbalance(jobs, g)))
    for group in order:
        with_job = [jobs[each] for each in (*group, row)]
        own_s = length_s(jobs[row])
        is_longest = own_s > max(length_s(jobs[each]) for each in group)
        sums = sum(job.cpu_s for job in with_job), sum(job.comm_s for job in with_job)
        if not (is_longest and own_s >= max(sums)):
            group.append(row)
            return
    order[0].append(row)


def _swap(jobs: Sequence[SubtaskTimes], groups: Groups) -> bool:
    """The best swap between the two groups of the source, tried by all pairs of jobs."""
    if len(groups) < 2:
        return False
    one = max(groups, key=lambda g: abs(imbalance(jobs, g)))
    others = [group for group in groups if group is not one]
    other = max(others, key=lambda g: abs(imbalance(jobs, one) - imbalance(jobs, g)))
    before = abs(imbalance(jobs, one)) + abs(imbalance(jobs, other))

    def after(pair: tuple[int, int]) -> tuple[float, float]:
        moved = jobs[pair[0]].imbalance_s - jobs[pair[1]].imbalance_s
        first, second = imbalance(jobs, one) - moved, imbalance(jobs, other) + moved
        return abs(first) + abs(second), abs(first - second)

    # Among swaps with (up to rounding) the same sum, the one that evens both groups.
    mine, peer = min(
        ((a, b) for a in one for b in other),
        key=lambda pair: (round(after(pair)[0] / max(before, 1e-12), 9), after(pair)[1]),
    )
    if not after((mine, peer))[0] < before * (1 - 1e-9):
        return False
    one[one.index(mine)], other[other.index(peer)] = peer, mine
    return True


def with_machines(problem: GroupingProblem, groups: Groups) -> Grouping:
    """One machine each, then one at a time to the most computation-bound group."""
    counts = [1] * len(groups)
    for _ in range(problem.machines - len(groups)):
        needs = [
            sum(problem.times(job, count).imbalance_s for job in group)
            for group, count in zip(groups, counts, strict=True)
        ]
        counts[needs.index(max(needs))] += 1
    pairs = zip(groups, counts, strict=True)
    return Grouping(tuple(JobGroup(tuple(sorted(group)), count) for group, count in pairs))
