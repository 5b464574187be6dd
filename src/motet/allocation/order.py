"""Orders of jobs. All are total: the last key is unique."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motet.domain.arrays import Ints

JOINS = 2**61
"""Rank of a row that joins its group; larger ones join behind it."""
_FIRST_RANK, _LEAST_RANK, _DISTANCE = 2**50, 2**40, 2**20
MANY_ROWS = 1000
"""From this size on, one sort per key is faster than one sort by all keys."""


def order_by(*keys: NDArray[np.int64] | NDArray[np.bool_] | NDArray[np.float64]) -> Ints:
    """Rows by ascending keys, the first key is the most significant. The last key
    must be unique.
    """
    if len(keys[-1]) < MANY_ROWS:
        return np.lexsort(keys[::-1])
    order = np.argsort(keys[-1])
    for key in keys[-2::-1]:
        values = key[order]
        if values.dtype == np.bool_:
            is_last = values.astype(bool, copy=False)
            order = np.concatenate((order[~is_last], order[is_last]))
        else:  # Stable sort is fast for sorted input: numbers follow submissions.
            order = order[np.argsort(values, kind="stable")]
    return order


@njit(cache=True)
def running_first_within(order: Ints, group: Ints, gpus: Ints) -> Ints:
    """Position by row if rows with GPUs precede the other rows of their group.

    `order` holds every group's rows contiguously and is otherwise kept.
    """
    places = np.empty_like(order)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and group[order[end]] == group[order[start]]:
            end += 1
        place = start
        for runs in (True, False):
            for index in range(start, end):
                if (gpus[order[index]] > 0) == runs:
                    places[order[index]] = place
                    place += 1
        start = end
    return places


@njit(cache=True)
def ranks_running_first(order: Ints, group: Ints, gpus: Ints, rank: Ints) -> Ints:
    """Ranks by row with which rows with GPUs precede the other rows of their group.

    Sorted by group, rank and number, rows stand as by the places of `running_first_within`.

    Ranks change only for rows that join a group, that start before a row that waits, and, rarely,
    for all rows with GPUs: what is recorded of them does not grow with the rows that wait.

    `order`: by group, rank and number. `rank`: JOINS or more for rows that join the tail of their
    group. The distances between ranks leave room for rows that start.
    """
    ranks = rank.copy()
    if len(ranks) and ranks.min() < _LEAST_RANK:  # Places, which earlier versions recorded.
        ranks[ranks < JOINS] += _FIRST_RANK
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and group[order[end]] == group[order[start]]:
            end += 1
        rows = order[start:end]
        _join(rows, ranks)
        _put_running_first(rows, gpus, ranks)
        start = end
    return ranks


@njit(cache=True)
def _join(rows: Ints, ranks: Ints) -> None:
    """Give the rows that join a group ranks behind all others of it."""
    last = _FIRST_RANK
    for row in rows:
        if ranks[row] < JOINS:
            last = max(last, ranks[row])
    for row in rows:
        if ranks[row] >= JOINS:
            last += _DISTANCE
            ranks[row] = last


@njit(cache=True)
def _put_running_first(rows: Ints, gpus: Ints, ranks: Ints) -> None:
    """Rank the rows with GPUs of a group before those without, changing as few as possible."""
    runs = gpus[rows] > 0
    running, waiting = rows[runs], rows[~runs]
    if not len(waiting):
        return
    first_waiting = ranks[waiting].min()
    is_before = ranks[running] < first_waiting
    before, late = running[is_before], running[~is_before]
    last = ranks[before].max() if len(before) else first_waiting - _DISTANCE
    if first_waiting - last <= len(late):  # No room is left: all of them move away.
        late, last = running, first_waiting - _DISTANCE - len(running)
    for row in late:
        last += 1
        ranks[row] = last


def places_in(order: Ints) -> Ints:
    """By row, its position in `order`: the inverse permutation."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places
