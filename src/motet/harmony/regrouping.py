"""When a job arrives or ends: repair the groups with as few moves as possible (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.2, "Dynamic Job Regrouping". A profiled job that
arrives joins the group in which it raises U most, or waits; it also waits while others do, since
then no waiting job would help. A job that ends is replaced by a similar waiting job, else by a set
of them that is similar in sum, else its group and others are grouped again: sets with few running
jobs first, a set with more of them only for 5 % more U, and none for less than 5 % of U.

Departures: an arriving job may also take machines that are idle, and waiting jobs get idle machines
however little that helps, since no running job moves. Where the source tries all sets of
groups, more than 4 other groups are tried alone and added one after the other, the smallest first;
beyond 32, twice as many of the smallest ones each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from motet.harmony.problem import Grouping, GroupingProblem, JobGroup, comms_on
from motet.harmony.search import best_grouping
from motet.harmony.similarity import best_match, matching_set

LEAST_BENEFIT = 0.05
"""Relative rise of U below which running jobs stay, or fewer of them are moved."""
_MOST_GROUPS_IN_ALL_SETS, _MOST_GROUPS_ONE_BY_ONE = 4, 32

Search: TypeAlias = Callable[[GroupingProblem], Grouping]
IsWorth: TypeAlias = Callable[[GroupingProblem, Grouping, Grouping], bool]
"""Whether a grouping (the second one) is worth the moves from another one (the first)."""


def always_worth(problem: GroupingProblem, kept: Grouping, new: Grouping) -> bool:
    """As in the source: moves cost nothing."""
    del problem, kept, new
    return True


class RegroupReason(Enum):
    """What an arrival or an end led to."""

    JOINED = "joined"
    WAITS = "waits"
    REPLACED = "replaced"
    REPLACED_BY_SET = "replaced by a set"
    REGROUPED = "regrouped"
    KEPT = "kept"


@dataclass(frozen=True)
class Regrouping:
    """The groups from now on. `score`: their scalar utilisation, of the whole cluster."""

    grouping: Grouping
    reason: RegroupReason
    score: float


def after_arrival(
    problem: GroupingProblem,
    grouping: Grouping,
    job: int,
    waiting: Sequence[int],
    search: Search = best_grouping,
) -> Regrouping:
    """The groups after a job was profiled. `waiting`: the other profiled or paused jobs."""
    now = problem.score(grouping)
    if waiting:
        return Regrouping(grouping, RegroupReason.WAITS, now)
    options = [each for each in _with_job(problem, grouping, job, search) if problem.fits(each)]
    best = max(options, key=problem.score, default=grouping)
    score = problem.score(best)
    if score <= now:
        return Regrouping(grouping, RegroupReason.WAITS, now)
    return Regrouping(best, RegroupReason.JOINED, score)


def after_end(
    problem: GroupingProblem,
    grouping: Grouping,
    job: int,
    waiting: Sequence[int],
    search: Search = best_grouping,
    is_worth: IsWorth = always_worth,
) -> Regrouping:
    """The groups after a job of them has ended. `waiting`: profiled, then paused jobs."""
    group = next(each for each in grouping.groups if job in each.jobs)
    found, reason = best_match(problem, group, job, waiting), RegroupReason.REPLACED
    if not found:
        found, reason = matching_set(problem, group, job, waiting), RegroupReason.REPLACED_BY_SET
    repaired = _replaced(grouping, group, job, found)
    score = problem.score(repaired)
    if found:
        return Regrouping(repaired, reason, score)
    return _regrouped(problem, repaired, group, waiting, search, is_worth)


def after_release(
    problem: GroupingProblem,
    grouping: Grouping,
    waiting: Sequence[int],
    search: Search = best_grouping,
    is_worth: IsWorth = always_worth,
) -> Regrouping:
    """The groups after machines have become idle. `waiting`: profiled, then paused jobs."""
    idle = problem.machines - grouping.machines
    started = regroup_part(problem, waiting, idle, search) if waiting and idle else Grouping()
    wider = Grouping((*grouping.groups, *started.groups))
    left = [job for job in waiting if job not in started.jobs]
    score = problem.score(wider)
    found = _regrouped(problem, wider, JobGroup((), idle), left, search, is_worth)
    is_started = found.reason is RegroupReason.KEPT and started.groups
    return Regrouping(found.grouping, RegroupReason.JOINED, score) if is_started else found


def _with_job(
    problem: GroupingProblem, grouping: Grouping, job: int, search: Search
) -> Iterator[Grouping]:
    for group in grouping.groups:
        yield _exchanged(
            grouping, group, JobGroup(tuple(sorted((*group.jobs, job))), group.machines)
        )
    idle = problem.machines - grouping.machines
    if idle:
        own = regroup_part(problem, [job], idle, search)
        yield Grouping((*grouping.groups, *own.groups))


def _regrouped(
    problem: GroupingProblem,
    grouping: Grouping,
    group: JobGroup,
    waiting: Sequence[int],
    search: Search,
    is_worth: IsWorth,
) -> Regrouping:
    """The group without its job, the waiting jobs and more and more other groups anew."""
    least = problem.score(grouping)
    best = Regrouping(grouping, RegroupReason.KEPT, least)
    left = [each for each in grouping.groups if set(each.jobs) <= set(group.jobs)]
    others = [each for each in grouping.groups if each not in left]
    for chosen in sorted(_sets_of(others), key=_job_count):
        part = [*left, *chosen]
        kept = [each for each in others if each not in chosen]
        machines = problem.machines - sum(each.machines for each in kept)
        running = sorted(job for each in part for job in each.jobs)
        most = most_worth(problem, [*waiting, *running], machines) / problem.machines
        most += problem.score(Grouping(tuple(kept)))
        if most <= max(0.0, least * (1 + LEAST_BENEFIT)):
            continue  # Even the best groups would not be worth it.
        anew = regroup_part(problem, [*waiting, *running], machines, search)
        found = Grouping((*kept, *anew.groups))
        score = problem.score(found)
        is_better = score > max(0.0, least * (1 + LEAST_BENEFIT))
        # Moves beyond those of a smaller set are worth what they add to it.
        smaller = [grouping] if best.grouping is grouping else [grouping, best.grouping]
        if is_better and all(is_worth(problem, each, found) for each in smaller):
            least = score
            best = Regrouping(found, RegroupReason.REGROUPED, least)
    return best


def most_worth(problem: GroupingProblem, jobs: Sequence[int], machines: int) -> float:
    """At least what any groups of these jobs are worth on so many machines: no use above them, no
    job faster than alone on all of them."""
    if not len(problem.costs.work_s) or not machines:
        return float(machines)
    costs = problem.costs.rows(jobs)
    comp_s = costs.divided_s / machines + costs.constant_s
    # On fewer machines COMP is longer, but COMM may be shorter: its least is that on one.
    least_comm_s = comms_on(costs, np.ones(len(jobs)))
    apart_s = comp_s + np.maximum(least_comm_s, costs.outside_s)
    beside_s = np.maximum(comp_s + costs.outside_s, least_comm_s)
    shortest_s = np.where(costs.overlaps > 0, beside_s, apart_s)
    rates = np.divide(1.0, shortest_s, out=np.zeros(len(jobs)), where=shortest_s > 0)
    return min(float(costs.work_s @ rates), float(machines))


def regroup_part(
    problem: GroupingProblem, rows: Sequence[int], machines: int, search: Search
) -> Grouping:
    """A grouping of these jobs alone, in this order, on this many machines."""
    part = problem.part(rows, machines)
    return Grouping(
        tuple(
            JobGroup(tuple(sorted(rows[place] for place in group.jobs)), group.machines)
            for group in search(part).groups
        )
    )


def _sets_of(groups: Sequence[JobGroup]) -> Iterator[tuple[JobGroup, ...]]:
    """All sets of few groups; of many, each alone and the smallest ones together."""
    if len(groups) <= _MOST_GROUPS_IN_ALL_SETS:
        counts = range(len(groups) + 1)
        yield from chain.from_iterable(combinations(groups, size) for size in counts)
        return
    smallest_first = sorted(groups, key=lambda group: len(group.jobs))
    yield ()
    yield from ((group,) for group in groups)
    sizes = list(range(2, len(groups) + 1))
    if len(groups) > _MOST_GROUPS_ONE_BY_ONE:
        doubled = (1 << power for power in range(1, (len(groups) - 1).bit_length()))
        sizes = [*doubled, len(groups)]
    yield from (tuple(smallest_first[:size]) for size in sizes)


def _job_count(groups: Sequence[JobGroup]) -> int:
    return sum(len(group.jobs) for group in groups)


def _replaced(grouping: Grouping, group: JobGroup, job: int, new: Sequence[int]) -> Grouping:
    """The group with other jobs in place of one; without jobs its machines are idle."""
    jobs = tuple(sorted({*group.jobs, *new} - {job}))
    return _exchanged(grouping, group, JobGroup(jobs, group.machines))


def _exchanged(grouping: Grouping, old: JobGroup, new: JobGroup) -> Grouping:
    groups = (new if group == old else group for group in grouping.groups)
    return Grouping(tuple(group for group in groups if group.jobs))
