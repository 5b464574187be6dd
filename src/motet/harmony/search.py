"""The default search of Harmony: exact for few jobs, else Algorithm 1 with improvements.

Beyond the source's Algorithm 1 (`motet.harmony.prefixes`): the search does not end at the first
prefix that raises no U; numbers of groups next to the balanced one are tried; jobs and machines
move between groups afterwards; few jobs are grouped by an exact program. Groupings whose U is
within a tolerance of the best one count as equal, and the one with the fewest jobs is chosen: the
source prefers few jobs, for shorter completion times and less memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.harmony.exact import MOST_STEPS, exact_grouping, exact_steps
from motet.harmony.local_search import improved
from motet.harmony.prefixes import Candidate, nothing
from motet.harmony.problem import OUTSIDE, Grouping, GroupingProblem, grouping_of
from motet.harmony.starts import all_in_groups, best_prefix

TOLERANCE = 0.002
"""Relative difference of U up to which fewer jobs are preferred."""
_MOST_VISITS = 40_000_000
"""Of rows by the moves from all starts: about 0.05 s."""
_STARTS, _MOST_JOBS_OF_SEVERAL_STARTS = 8, 400


def best_grouping(problem: GroupingProblem) -> Grouping:
    """The grouping that the default search finds; without jobs, none."""
    if len(problem) == 0:
        return Grouping()
    if exact_steps(len(problem), problem.machines) <= MOST_STEPS:
        return exact_grouping(problem, TOLERANCE)
    return heuristic_grouping(problem)


def quick_grouping(problem: GroupingProblem) -> Grouping:
    """As `best_grouping` with a fifth of the effort: from the best prefix, and from no groups.

    For repairs of present groups, which compare many such groupings and ignore differences of 5 %.
    """
    if len(problem) == 0:
        return Grouping()
    if exact_steps(len(problem), problem.machines) <= MOST_STEPS // 10:
        return exact_grouping(problem, TOLERANCE)
    starts = [best_prefix(problem), nothing(len(problem))]
    return _smallest_good([_improved(problem, start, _MOST_VISITS // 10) for start in starts])


def heuristic_grouping(problem: GroupingProblem) -> Grouping:
    """The search for many jobs: from several starts, moves of jobs and machines."""
    starts = _starts(problem)
    return _smallest_good(
        [_improved(problem, start, _MOST_VISITS // len(starts)) for start in starts]
    )


def _smallest_good(found: Sequence[Candidate]) -> Grouping:
    """Of the groupings whose U is within the tolerance of the best, the one with fewest jobs."""
    most = max(each.score for each in found)
    good = [each for each in found if each.score >= most * (1 - TOLERANCE)]
    best = min(good, key=lambda each: (int((each.group_of != OUTSIDE).sum()), -each.score))
    return grouping_of(best.group_of.tolist(), best.counts.tolist())


def _starts(problem: GroupingProblem) -> list[Candidate]:
    """The best prefix; for a moderate number of jobs also no groups, and all jobs in several
    numbers of groups up to twice as many as the best prefix has.
    """
    best = best_prefix(problem)
    if len(problem) > _MOST_JOBS_OF_SEVERAL_STARTS:
        return [best]
    most = min(len(problem), problem.machines, 2 * len(best.counts) + _STARTS)
    counts = np.unique(np.geomspace(1, most, _STARTS).round().astype(int)).tolist()
    return [best, nothing(len(problem)), *(all_in_groups(problem, count) for count in counts)]


def _improved(problem: GroupingProblem, start: Candidate, most_visits: int) -> Candidate:
    limits = problem.machine_memory_bytes, problem.cpu_weight
    return improved(problem.costs, problem.machines, start, *limits, most_visits)
