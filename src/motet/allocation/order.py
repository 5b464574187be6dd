"""Orders of jobs. All are total: the last key is unique."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motet.domain.arrays import Ints
from motet.domain.snapshot import JobTable

JOINS = 2**61
"""Rank of a row that joins its group; larger ones join behind it."""
_FIRST_RANK, _LEAST_RANK, _DISTANCE = 2**50, 2**40, 2**20
_MIDDLE, _APART, _ROOM = 2**60, 2**32, 2**8
"""Of ranks along an order: the first one, the distance to the next one, and the least distance
where ranks that have no room left are spread."""
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


def running_first(jobs: JobTable) -> Ints:
    """Rows with GPUs, then the others; both by submission, then number."""
    return _with_gpus_first(jobs.by_submission, jobs.held_gpus)


@njit(cache=True)
def _with_gpus_first(order: Ints, gpus: Ints) -> Ints:
    found = np.empty_like(order)
    running, waiting = 0, np.count_nonzero(gpus)
    for row in order:
        if gpus[row] > 0:
            found[running] = row
            running += 1
        else:
            found[waiting] = row
            waiting += 1
    return found


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


@njit(cache=True)
def ranks_along(order: Ints, rank: Ints) -> Ints:
    """Ranks by row that ascend along `order`, and so decide ties as the positions in it would.

    As few of them as possible change: what is recorded of them grows with the rows that move, not
    with all. `rank`: JOINS or more for rows that have none yet.
    """
    ranks, count = rank.copy(), len(order)
    stays = _longest_ascending(rank[order])
    place = 0
    while place < count:
        if stays[place]:
            place += 1
            continue
        begin, end, room = place, _next_that_stays(stays, place), 1
        while begin > 0 and end < count and not _has_room(order, ranks, begin, end, room):
            begin, room = max(2 * begin - end, 0), _ROOM
            end = _next_that_stays(stays, min(2 * end - place, count))
        _spread(order, ranks, begin, end)
        place = end
    return ranks


@njit(cache=True)
def _longest_ascending(ranks: Ints) -> NDArray[np.bool_]:
    """Which places form a longest ascending sequence; ranks of JOINS or more do not count."""
    count, length = len(ranks), 0
    before, last = (
        np.empty_like(ranks),
        np.empty_like(ranks),
    )  # `last`: by length, the least rank's.
    for place in range(count):
        if ranks[place] >= JOINS:
            continue
        least, most = 0, length
        if length and ranks[last[length - 1]] < ranks[place]:
            least = length
        while least < most:
            middle = (least + most) // 2
            if ranks[last[middle]] < ranks[place]:
                least = middle + 1
            else:
                most = middle
        before[place] = last[least - 1] if least else -1
        last[least] = place
        length = max(length, least + 1)
    found = np.zeros(count, dtype=np.bool_)
    place = last[length - 1] if length else -1
    while place >= 0:
        found[place] = True
        place = before[place]
    return found


@njit(cache=True)
def _next_that_stays(stays: NDArray[np.bool_], place: int) -> int:
    while place < len(stays) and not stays[place]:
        place += 1
    return place


@njit(cache=True)
def _has_room(order: Ints, ranks: Ints, begin: int, end: int, room: int) -> bool:
    """Whether the places from `begin` to `end` can be `room` apart, between their neighbours."""
    return bool((ranks[order[end]] - ranks[order[begin - 1]]) // (end - begin + 1) >= room)


@njit(cache=True)
def _spread(order: Ints, ranks: Ints, begin: int, end: int) -> None:
    """Give the places from `begin` to `end` ranks between those of their neighbours."""
    rows = order[begin:end]
    if begin > 0 and end < len(order):
        low = ranks[order[begin - 1]]
        apart = (ranks[order[end]] - low) // (len(rows) + 1)
    elif end < len(order):
        low, apart = ranks[order[end]] - _APART * (len(rows) + 1), _APART
    else:
        low, apart = ranks[order[begin - 1]] if begin > 0 else _MIDDLE, _APART
    for row in rows:
        low += apart
        ranks[row] = low


def places_in(order: Ints) -> Ints:
    """By row, its position in `order`: the inverse permutation."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places
