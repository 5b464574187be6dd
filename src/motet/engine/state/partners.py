"""Jobs that share GPUs under a decision. Pure; what is asked of all jobs is compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Ints
from motet.domain.decision import Decision
from motet.domain.snapshot import UNKNOWN, JobTable


class Partners(Mapping[int, tuple[int, ...]]):
    """By the number of a job that shares its GPUs, the other jobs, in the policy's order.

    They are looked up when they are asked for, since most groups stay as they are.
    """

    def __init__(self, decision: Decision, jobs: JobTable) -> None:
        self._decision, self._jobs = decision, jobs

    @cached_property
    def _by_group(self) -> Ints:
        """Rows of jobs with GPUs and a group, by the group."""
        return rows_by_group(self._decision)

    @property
    def _group(self) -> Ints:
        group = self._decision.group
        return np.full(len(self._jobs), UNKNOWN) if group is None else group

    def __getitem__(self, number: int) -> tuple[int, ...]:
        group = self._decision.group
        if group is None:
            raise KeyError(number)
        position, numbers = self._decision.reasons.position, self._jobs.number
        others = _others_of(number, self._by_group, group, position, numbers)
        if not len(others):
            raise KeyError(number)
        return tuple(others.tolist())

    def __iter__(self) -> Iterator[int]:
        rows = self._by_group
        _, place, count = np.unique(self._group[rows], return_inverse=True, return_counts=True)
        return iter(self._jobs.number[rows[count[place] > 1]].tolist())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def regrouped(self) -> Ints:
        """Rows of jobs that continue to run but must move to other jobs, or away from them.

        The jobs of a group come to its first job. Of jobs that shared GPUs and part, the first one
        that is in a group keeps them, with that group, or else the first one.
        """
        jobs, decision, group = self._jobs, self._decision, self._group
        gpus, sharing = (jobs.held_gpus, decision.gpus), (jobs.partner, group)
        rows, sets, continues = _continuing(*gpus, *sharing, jobs.number)
        if not len(rows):
            return rows
        by_set = rows[sets[rows].argsort(kind="stable")]
        rank = decision.reasons.position, jobs.number
        return _regrouped(by_set, sets, self._by_group, group, continues, *rank)


def rows_by_group(decision: Decision) -> Ints:
    """Rows of jobs with GPUs and a group, by the group."""
    if decision.group is None:
        return np.zeros(0, dtype=np.int64)
    rows: Ints = ((decision.group != UNKNOWN) & (decision.gpus > 0)).nonzero()[0]
    return rows[decision.group[rows].argsort(kind="stable")]


def present_sets(jobs: JobTable) -> Ints:
    """`(jobs,)`: the lowest number of the jobs on each job's GPUs."""
    return np.where(jobs.partner == UNKNOWN, jobs.number, np.minimum(jobs.number, jobs.partner))


@njit(cache=True)
def _continuing(
    held_gpus: Ints, gpus: Ints, partner: Ints, group: Ints, number: Ints
) -> tuple[Ints, Ints, Bools]:
    """Rows that continue to run and share GPUs before or after; by row, as `present_sets`, and
    whether it continues to run."""
    rows, count = np.empty_like(number), 0
    sets, continues = np.empty_like(number), np.empty(len(number), np.bool_)
    for row in range(len(number)):
        is_alone = partner[row] == UNKNOWN
        sets[row] = number[row] if is_alone else min(number[row], partner[row])
        continues[row] = held_gpus[row] > 0 and gpus[row] > 0
        rows[count] = row
        count += continues[row] and not (is_alone and group[row] == UNKNOWN)
    return rows[:count], sets, continues


@njit(cache=True)
def _end_of_same(rows: Ints, values: Ints, start: int) -> int:
    """The first place after `start` whose row has another value."""
    end = start + 1
    while end < len(rows) and values[rows[end]] == values[rows[start]]:
        end += 1
    return end


@njit(cache=True)
def _others_of(job: int, by_group: Ints, group: Ints, position: Ints, number: Ints) -> Ints:
    """Numbers of the other jobs of a job's group, by position, those of one position by row."""
    others, count, start = np.empty(len(by_group), np.int64), 0, 0
    for place in range(len(by_group)):
        if group[by_group[place]] != group[by_group[start]]:
            start = place
        if number[by_group[place]] == job:
            break
    else:
        return number[:0].copy()
    for row in by_group[start : _end_of_same(by_group, group, start)]:
        if number[row] == job:
            continue
        place = count
        while place > 0 and position[row] < position[others[place - 1]]:
            others[place] = others[place - 1]
            place -= 1
        others[place] = row
        count += 1
    return number[others[:count]]


@njit(cache=True)
def _is_before(row: int, other: int, position: Ints, number: Ints) -> bool:
    if position[row] != position[other]:
        return bool(position[row] < position[other])
    return bool(number[row] < number[other])


@njit(cache=True)
def _first_of_groups(
    by_group: Ints, group: Ints, position: Ints, number: Ints
) -> tuple[Ints, Bools]:
    """By row, the first row of its group, or itself; whether others are in its group."""
    first, is_shared = np.arange(len(group)), np.zeros(len(group), np.bool_)
    start = 0
    while start < len(by_group):
        end = _end_of_same(by_group, group, start)
        members, start = by_group[start:end], end
        leader = members[0]
        for row in members[1:]:
            if _is_before(row, leader, position, number):
                leader = row
        for row in members:
            first[row], is_shared[row] = leader, len(members) > 1
    return first, is_shared


@njit(cache=True)
def _regrouped(
    by_set: Ints,
    sets: Ints,
    by_group: Ints,
    group: Ints,
    continues: Bools,
    position: Ints,
    number: Ints,
) -> Ints:
    """`by_set`: rows that continue, by `sets`, the jobs on whose GPUs they are. `by_group`: rows
    with GPUs, by `group`."""
    first, is_shared = _first_of_groups(by_group, group, position, number)
    moved, count, start = np.empty_like(by_set), 0, 0
    while start < len(by_set):
        end = _end_of_same(by_set, sets, start)
        together, start = by_set[start:end], end
        keeper, stays = UNKNOWN, UNKNOWN  # The first row of those that stay, and of its group.
        for row in together:
            if not (continues[first[row]] and sets[first[row]] == sets[row]):
                continue  # It comes to a job on other GPUs.
            is_better = stays == UNKNOWN or is_shared[row] > is_shared[stays]
            if not is_better and is_shared[row] == is_shared[stays]:
                is_better = _is_before(row, stays, position, number)
            if is_better:
                stays, keeper = row, first[row]
        for row in together:
            if first[row] != keeper:
                moved[count] = row
                count += 1
    return moved[:count]
