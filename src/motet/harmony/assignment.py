"""Algorithm 2 of Harmony: jobs to a given number of groups, then swaps between groups.

Source: W.-Y. Lee, dissertation, section 4.3.2. Jobs in descending order of their iteration time,
with CPU time outside of COMP, fill one group after the other: each group takes the longest job
whose resource sign (T_cpu - T_net) is opposite to the group's sum, else the longest one. Remaining
jobs, most imbalanced first, join the group that they balance best. Then pairs of jobs are swapped
between the most imbalanced group and the one most different from it.

Departures: `|g| < n / n_G` fills each group in place of `<=`, which would add a job too many. A
swap takes place only if it shrinks the sum of both imbalances by a relative 1e-9, so that swaps
end. The source also asks whether a remaining job that is longer than all jobs of its group would
bound the group (lines 16 to 22); this never occurs, because each group begins with the longest job
that is left.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Floats, Ints

_LEAST_GAIN = 1e-9


@njit(cache=True)
def assign_jobs(comp_s: Floats, comm_s: Floats, group_count: int) -> Ints:
    """The group of each job, 0 to `group_count` - 1. `comp_s`: COMP at the common DoP of all
    groups, with the CPU time outside of it; there are at least as many jobs as groups.
    """
    difference, shortness_s = np.empty(len(comp_s)), np.empty(len(comp_s))
    for row in range(len(comp_s)):
        difference[row] = comp_s[row] - comm_s[row]
        shortness_s[row] = -(comp_s[row] + comm_s[row])
    group_of = _filled_evenly(difference, _ascending(shortness_s), group_count)
    _place_remaining(difference, group_of, group_count)
    swap_between_groups(difference, group_of, group_count)
    return group_of


@njit(cache=True)
def _filled_evenly(difference: Floats, longest_first: Ints, group_count: int) -> Ints:
    """Groups of equal size; -1 for the remaining jobs."""
    group_of = np.full(len(difference), -1)
    # The next place in the order, for jobs of any sign, and of one sign.
    places = np.zeros(3, np.int64)
    for group in range(group_count):
        balance = 0.0
        for _ in range(len(difference) // group_count):
            row = _longest(longest_first, group_of, difference, -np.sign(balance), places)
            if row < 0:
                row = _longest(longest_first, group_of, difference, 0.0, places)
            group_of[row] = group
            balance += difference[row]
    return group_of


@njit(cache=True)
def _longest(
    longest_first: Ints, group_of: Ints, difference: Floats, sign: float, places: Ints
) -> int:
    """The longest free job whose difference has this sign or is 0 (sign 0: any); -1: none."""
    kind = int(sign) + 1
    for place in range(places[kind], len(longest_first)):
        row = longest_first[place]
        if group_of[row] < 0 and sign * difference[row] >= 0:
            places[kind] = place
            return int(row)
    places[kind] = len(longest_first)
    return -1


@njit(cache=True)
def _place_remaining(difference: Floats, group_of: Ints, group_count: int) -> None:
    sums = np.zeros(group_count)
    remaining, balance, count = np.empty_like(group_of), np.empty_like(difference), 0
    for row in range(len(difference)):
        if group_of[row] >= 0:
            sums[group_of[row]] += difference[row]
        else:
            remaining[count], balance[count] = row, -abs(difference[row])
            count += 1
    for place in _ascending(balance[:count]):
        row = remaining[place]
        group = _nearest(sums, -difference[row])
        group_of[row] = group
        sums[group] += difference[row]


@njit(cache=True)
def swap_between_groups(difference: Floats, group_of: Ints, group_count: int) -> None:
    """Swap jobs in place while the imbalance of the most imbalanced group and of the group that
    differs most from it shrinks. `difference`: T_cpu - T_net of each job.
    """
    members, starts = _members(group_of, group_count)
    sums = np.zeros(group_count)
    for row in range(len(difference)):
        sums[group_of[row]] += difference[row]
    while group_count > 1:
        one = _farthest(sums, 0.0)
        other = _farthest(sums, sums[one])
        first = members[starts[one] : starts[one + 1]]
        second = members[starts[other] : starts[other + 1]]
        place, peer = _best_swap(difference[first], difference[second], sums[one] - sums[other])
        moved = difference[first[place]] - difference[second[peer]]
        before = abs(sums[one]) + abs(sums[other])
        after = abs(sums[one] - moved) + abs(sums[other] + moved)
        if one == other or not after < before * (1 - _LEAST_GAIN):
            return
        first[place], second[peer] = second[peer], first[place]
        group_of[first[place]], group_of[second[peer]] = one, other
        sums[one] -= moved
        sums[other] += moved


@njit(cache=True)
def _farthest(sums: Floats, value: float) -> int:
    """The first group whose sum differs most from a value."""
    found = 0
    for group in range(1, len(sums)):
        if abs(sums[group] - value) > abs(sums[found] - value):
            found = group
    return found


@njit(cache=True)
def _nearest(sums: Floats, value: float) -> int:
    """The first group whose sum differs least from a value."""
    found = 0
    for group in range(1, len(sums)):
        if abs(sums[group] - value) < abs(sums[found] - value):
            found = group
    return found


@njit(cache=True)
def _best_swap(first: Floats, second: Floats, apart: float) -> tuple[int, int]:
    """Places of the two jobs whose swap brings both sums closest to their mean.

    The sum of both imbalances is convex in what is moved and symmetric about half the distance of
    the sums, so the swap that moves nearest to half of it is the best one.
    """
    order = _ascending(second)
    ascending = second[order]
    best, best_place, best_peer = np.inf, 0, 0
    for place in range(len(first)):
        wanted = first[place] - apart / 2
        above = np.searchsorted(ascending, wanted)
        for near in (above - 1, above):
            if 0 <= near < len(ascending) and abs(ascending[near] - wanted) < best:
                best = abs(ascending[near] - wanted)
                best_place, best_peer = place, order[near]
    return best_place, best_peer


@njit(cache=True)
def _ascending(values: Floats) -> Ints:
    """Places in ascending order of their values, equal ones by place. Numba compiles a sort anew in
    every kernel that has one, which takes seconds."""
    return np.argsort(values, kind="mergesort")


@njit(cache=True)
def _members(group_of: Ints, group_count: int) -> tuple[Ints, Ints]:
    """The jobs of each group after those of the group before; those of group g begin at the g-th
    place of the second array."""
    starts = np.zeros(group_count + 1, np.int64)
    for group in group_of:
        starts[group + 1] += 1
    starts = np.cumsum(starts)
    members, ends = np.empty_like(group_of), starts.copy()
    for row in range(len(group_of)):
        members[ends[group_of[row]]] = row
        ends[group_of[row]] += 1
    return members, starts
