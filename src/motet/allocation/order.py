"""Orders of jobs. All are total: the last key is unique."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motet.domain.arrays import Array, Ints
from motet.domain.snapshot import UNKNOWN, JobTable

JOINS = 2**61
"""Rank of a row that joins its group; larger ones join behind it."""
_FIRST_RANK, _LEAST_RANK, _DISTANCE = 2**50, 2**40, 2**20
_NO_RANK = 2**62
"""Above all ranks."""
_MIDDLE, _APART, _ROOM = 2**60, 2**32, 2**8
"""Of ranks along an order: the first one, the distance to the next one, and the least distance
where ranks that have no room left are spread."""
MANY_ROWS = 100
"""From this size on, one sort per key is faster than one sort by all keys."""
MOST_VALUES = 64
"""Whole numbers up to this size are counted, not compared."""


def order_by(*keys: NDArray[np.int64] | NDArray[np.bool_] | NDArray[np.float64]) -> Ints:
    """Rows by ascending keys, the first key is the most significant. The last key
    must be unique.
    """
    if len(keys[-1]) < MANY_ROWS:
        return np.lexsort(keys[::-1])
    order: Ints = keys[-1].argsort()
    for key in keys[-2::-1]:
        if key.dtype.kind != "f":
            order, is_sorted = _sorted_by_few(order, key)
            if is_sorted:
                continue
        order = order[np.argsort(key[order], kind="stable")]  # Fast for sorted input.
    return order


@njit(cache=True)
def ordered_by_rank(by_rank: Ints, group: Ints, rank: Ints, number: Ints) -> Ints:
    """Rows by group, rank and number. `by_rank`: rows by rank, hardly any of which are equal, those
    in any order. `group`: a few numbers from 0."""
    least = most = np.int64(0)
    for value in group:
        most = max(most, value)
    order = _counted(by_rank, group, least, most)
    last = UNKNOWN
    for end in range(len(order)):
        place, row = end, order[end]
        before, last = last, rank[row]
        if last != before:  # Hardly any are equal.
            continue
        while place > 0 and _is_tied_before(row, order[place - 1], group, rank, number):
            order[place] = order[place - 1]
            place -= 1
        order[place] = row
    return order


@njit(cache=True)
def _is_tied_before(row: int, other: int, group: Ints, rank: Ints, number: Ints) -> bool:
    is_tied = group[row] == group[other] and rank[row] == rank[other]
    return bool(is_tied and number[row] < number[other])


@njit(cache=True)
def _sorted_by_few(order: Ints, key: Array) -> tuple[Ints, bool]:
    """`order` sorted by a key of few different values, equal ones as they stand; False: as it is,
    since there are too many."""
    low, high = np.int64(0), np.int64(0)
    if len(order):
        low = high = np.int64(key[0])
    for value in key:
        low, high = min(low, np.int64(value)), max(high, np.int64(value))
    if high > MOST_VALUES or low < -MOST_VALUES:
        return order, False
    return _counted(order, key, low, high), True


@njit(cache=True)
def _counted(order: Ints, key: Array, low: np.int64, high: np.int64) -> Ints:
    """`order` sorted by a key from `low` to `high`, equal ones as they stand."""
    ends = np.zeros(high - low + 2, np.int64)
    for value in key:
        ends[np.int64(value) - low + 1] += 1
    ends = np.cumsum(ends)
    found = np.empty_like(order)
    for row in order:
        value = np.int64(key[row]) - low
        found[ends[value]] = row
        ends[value] += 1
    return found


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
        for row in range(len(ranks)):  # By a mask, it takes two seconds more to compile.
            if ranks[row] < JOINS:
                ranks[row] += _FIRST_RANK
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
    first_waiting, running = _NO_RANK, 0
    for row in rows:
        if gpus[row] > 0:
            running += 1
        else:
            first_waiting = min(first_waiting, ranks[row])
    if running == len(rows):
        return
    last, late = first_waiting - _DISTANCE, 0
    has_before = False
    for row in rows:
        if gpus[row] > 0 and ranks[row] < first_waiting:
            last = max(last, ranks[row]) if has_before else ranks[row]
            has_before = True
        elif gpus[row] > 0:
            late += 1
    moves_all = first_waiting - last <= late  # No room is left: all of them move away.
    if moves_all:
        last = first_waiting - _DISTANCE - running
    for row in rows:
        if gpus[row] > 0 and (moves_all or ranks[row] >= first_waiting):
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
