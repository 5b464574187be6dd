"""Search for the blockers of new waits, in rows of numbers. Compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Bools, Ints
from motet.domain.snapshot import UNKNOWN

MOST_NAMED = 5
BEFORE, HEAD, OF_QUEUE, ALL = range(4)
"""Which jobs block: a `BlockerRule` as a number."""
LISTED = 7
"""Values of a wait before its blockers: row, job, GPUs, code, free GPUs, jobs before, blockers."""


@njit(cache=True)
def holder_rows(gpus: Ints) -> Ints:
    """Rows with GPUs."""
    rows, count = np.empty(len(gpus), np.int64), 0
    for row in range(len(gpus)):
        rows[count] = row
        count += gpus[row] != 0
    return rows[:count]


@njit(cache=True)
def holders_before(gpus: Ints, position: Ints, place: int) -> int:
    """How many rows with GPUs have a position before `place`."""
    count = 0
    for row in range(len(gpus)):
        count += (gpus[row] != 0) & (position[row] < place)
    return count


@njit(cache=True)
def _heads(code: Ints, is_head: Bools) -> Ints:
    """Rows that jobs behind may not overtake."""
    rows, count = np.empty(len(code), np.int64), 0
    for row in range(len(code)):
        rows[count] = row
        count += is_head[code[row]]
    return rows[:count]


@njit(cache=True)
def name_blockers(
    found: Ints,
    numbers: Ints,
    wanted: Ints,
    queue: Ints,
    gpus: Ints,
    code: Ints,
    position: Ints,
    rules: Ints,
    is_head: Bools,
) -> None:
    """Complete these waits; they have the number of holders before them."""
    heads = holders = first = np.empty(0, np.int64)
    for one in found:
        row, rule = one[0], rules[one[3]]
        if rule == HEAD:
            if not len(heads):
                heads = _heads(code, is_head)
            head = _first_head(heads, position, queue, queue[row])
            one[6] = head != UNKNOWN
            if head != UNKNOWN:
                one[LISTED], one[LISTED + 1] = numbers[head], wanted[head]
            continue
        if not len(holders):
            holders = holder_rows(gpus)
            first = _first_in_order(holders, position)
        named = first
        if rule == OF_QUEUE:
            own = holders[queue[holders] == queue[row]]
            named, one[6] = _first_in_order(own, position), len(own)
        elif rule == ALL or position[row] == UNKNOWN:
            one[6] = len(holders)
        for place in range(min(one[6], len(named))):
            one[LISTED + 2 * place] = numbers[named[place]]
            one[LISTED + 2 * place + 1] = gpus[named[place]]


@njit(cache=True)
def _first_head(heads: Ints, position: Ints, queue: Ints, own: int) -> int:
    """The first of its own queue, else of all; UNKNOWN without any."""
    found, is_own = UNKNOWN, False
    for row in heads:
        if (queue[row] == own) == is_own:
            if found == UNKNOWN or position[row] < position[found]:
                found = row
        elif not is_own:
            found, is_own = row, True
    return found


@njit(cache=True)
def _first_in_order(rows: Ints, position: Ints) -> Ints:
    """The first few of these in the policy's order, those of one position by row."""
    named, count = np.empty(MOST_NAMED, np.int64), 0
    for row in rows:
        if count == MOST_NAMED and position[row] >= position[named[count - 1]]:
            continue
        count = min(count + 1, MOST_NAMED)
        place = count - 1
        while place > 0 and position[named[place - 1]] > position[row]:
            named[place] = named[place - 1]
            place -= 1
        named[place] = row
    return named[:count]
