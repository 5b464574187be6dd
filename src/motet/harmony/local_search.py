"""Improves a grouping by moves of jobs and machines between two groups.

A move takes a job to another group, exchanges two jobs, merges two groups, or only moves machines.
With each move of jobs, the machines of both groups are divided again. The last group holds the
jobs that do not run and idle machines, and is worth nothing; the one before it may be empty, so
that groups split. When no move helps, each group in turn is dissolved and the search repeated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints
from motet.harmony.prefixes import Candidate
from motet.harmony.problem import OUTSIDE, JobCosts, alone_of, comm_on, machine_worth, work_of

_LEAST_GAIN = 1e-9
"""In machines: a smaller gain is rounding."""


class SearchState(NamedTuple):
    """Arrays of the search, changed in place. `group_of`: by job; `counts`, `worth`: machines of a
    group, and these times its utilisation; `visits`: one number, of job rows so far.
    """

    costs: JobCosts
    group_of: Ints
    counts: Ints
    worth: Floats
    visits: Ints
    memory_limit: float
    cpu_weight: float


@njit(cache=True)
def improved(
    costs: JobCosts,
    machines: int,
    start: Candidate,
    memory_limit: float,
    cpu_weight: float,
    most_visits: int,
) -> Candidate:
    """The grouping after all moves that raise U. `most_visits`: of rows, before the search ends."""
    best = _state_of(costs, machines, start, memory_limit, cpu_weight)
    _climb(best, most_visits)
    dissolved = int(np.int64(0))  # Of a literal, Numba compiles `_dissolve` once more.
    while dissolved < len(best.counts) - 1 and best.visits[0] < most_visits:
        trial = SearchState(
            costs,
            best.group_of.copy(),
            best.counts.copy(),
            best.worth.copy(),
            best.visits,
            memory_limit,
            cpu_weight,
        )
        _dissolve(trial, dissolved)
        _climb(trial, most_visits)
        dissolved += 1
        if trial.worth.sum() > best.worth.sum() + _LEAST_GAIN:
            best, dissolved = trial, 0
    _renumber(best.group_of, len(best.counts) - 1, OUTSIDE)
    return Candidate(best.group_of, best.counts[:-1], best.worth.sum() / machines)


@njit(cache=True, inline="always")
def _state_of(
    costs: JobCosts, machines: int, start: Candidate, memory_limit: float, cpu_weight: float
) -> SearchState:
    """The start with a group to split into and the group of what does not run; groups that lack
    memory are dissolved.
    """
    groups = len(start.counts)
    group_of = start.group_of.copy()
    _renumber(group_of, OUTSIDE, groups + 1)
    visits, worth = np.zeros(1, np.int64), np.zeros(groups + 2)
    counts = np.zeros(groups + 2, np.int64)
    for group in range(groups):
        counts[group] = start.counts[group]
    counts[-1] = machines - start.counts.sum()
    state = SearchState(costs, group_of, counts, worth, visits, memory_limit, cpu_weight)
    for group in range(groups):
        worth[group] = _worth(state, group, counts[group])
        if worth[group] == -np.inf:
            _dissolve(state, group)
    return state


@njit(cache=True, inline="always")
def _renumber(group_of: Ints, old: int, new: int) -> None:
    for job in range(len(group_of)):
        if group_of[job] == old:
            group_of[job] = new


@njit(cache=True)
def _dissolve(state: SearchState, group: int) -> None:
    outside = len(state.counts) - 1
    _renumber(state.group_of, group, outside)
    state.counts[outside] += state.counts[group]
    state.counts[group], state.worth[group] = 0, 0.0


@njit(cache=True)
def _climb(state: SearchState, most_visits: int) -> None:
    """Moves until none raises U."""
    before = -np.inf
    while state.worth.sum() > before + _LEAST_GAIN:
        before = state.worth.sum()
        for job in range(len(state.group_of)):
            _move_job(state, job)
            _exchange_job(state, job)
            if state.visits[0] >= most_visits:
                return
        for one in range(len(state.counts)):
            for other in range(one):
                _merge(state, one, other)
                if state.visits[0] >= most_visits:
                    return


@njit(cache=True, inline="always")
def _move_job(state: SearchState, job: int) -> None:
    """Move a job to each other group in turn if that raises U."""
    for target in range(len(state.counts)):
        source = state.group_of[job]
        if target != source:
            state.group_of[job] = target
            if not _keeps(state, source, target):
                state.group_of[job] = source


@njit(cache=True, inline="always")
def _exchange_job(state: SearchState, job: int) -> None:
    """Exchange a job with each job of another group if that raises U."""
    for peer in range(job):
        own, others = state.group_of[job], state.group_of[peer]
        if own != others:
            state.group_of[job], state.group_of[peer] = others, own
            if not _keeps(state, own, others):
                state.group_of[job], state.group_of[peer] = own, others


@njit(cache=True, inline="always")
def _merge(state: SearchState, one: int, other: int) -> None:
    """Move machines between two groups, then merge them, if that raises U."""
    _keeps(state, one, other)
    outside = len(state.counts) - 1
    if one == outside or state.counts[one] == 0 or state.counts[other] == 0:
        return
    joining = state.group_of == other
    state.group_of[joining] = one
    if not _keeps(state, one, other):
        state.group_of[joining] = other


@njit(cache=True)
def _keeps(state: SearchState, one: int, other: int) -> bool:
    """Divide the machines of two groups, whose jobs have changed, in the best of some ways.

    Returns False, and changes no machines, if no way raises the sum of their worths.
    """
    counts, worth = state.counts, state.worth
    total, least = counts[one] + counts[other], worth[one] + worth[other] + _LEAST_GAIN
    best, best_count, best_first, best_second = least, -1, 0.0, 0.0
    step = 0
    while step <= total:
        for count in (counts[one] - step, counts[one] + step):
            if 0 <= count <= total:
                first = _worth(state, one, count)
                second = _worth(state, other, total - count)
                if first + second > best:
                    best, best_count = first + second, count
                    best_first, best_second = first, second
        step = max(1, 2 * step)
    if best_count < 0:
        return False
    counts[one], counts[other] = best_count, total - best_count
    worth[one], worth[other] = best_first, best_second
    return True


@njit(cache=True)
def _worth(state: SearchState, group: int, count: int) -> float:
    """Worth of a group on this many machines: 0 without jobs or for the last group, minus infinity
    without machines or memory for its jobs.
    """
    if group == len(state.counts) - 1:
        return 0.0
    costs, divisor = state.costs, max(count, 1)
    cpu_s = comm_s = longest_s = memory = work_s = 0.0
    members = 0
    for row in range(len(state.group_of)):
        if state.group_of[row] == group:
            members += 1
            own_s = costs.divided_s[row] / divisor + costs.constant_s[row]
            cpu_s += own_s + costs.outside_s[row]
            sends_s = comm_on(costs, row, divisor)
            comm_s += sends_s
            longest_s = max(longest_s, alone_of(costs, row, own_s, sends_s))
            memory += costs.memory_bytes[row] + count * costs.fixed_bytes[row]
            work_s += work_of(costs, row)
    state.visits[0] += len(state.group_of)
    if members == 0:
        return 0.0
    if count == 0 or memory > count * state.memory_limit:
        return -np.inf
    return machine_worth(cpu_s, comm_s, longest_s, count, state.cpu_weight, work_s)
