"""All-or-none allocation of GPUs to gangs in a policy's order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Ints, read_only
from motet.domain.decision import Reasons
from motet.domain.wait import Wait

_RUNS, _TOO_FEW, _BEHIND = int(Wait.RUNS), int(Wait.TOO_FEW_GPUS), int(Wait.BEHIND_HEAD)


class Filled(NamedTuple):
    """`gpus`: per job; `reasons`: of waiting jobs; `free_gpus`: remaining GPUs."""

    gpus: Ints
    reasons: Reasons
    free_gpus: int


def fill(order: Ints, demands: Ints, free_gpus: int, *, may_overtake: bool) -> Filled:
    """Give each job of `order` its full request, or nothing.

    `order`: rows, first served first, each once. `demands`: GPUs by row. `may_overtake`: whether a
    job that fits runs although an earlier job does not fit.
    """
    columns, left = filled_in_order(order, read_only(demands), free_gpus, may_overtake)
    gpus, code, free, position = columns
    return Filled(gpus, Reasons(code, free, position), left)


def fill_running_first(
    order: Ints, held_gpus: Ints, demands: Ints, free_gpus: int, *, may_overtake: bool
) -> Filled:
    """As `fill`, with the rows that have GPUs before the others, in the same order each."""
    columns, left = _filled_running_first(
        read_only(order), read_only(held_gpus), read_only(demands), free_gpus, may_overtake
    )
    gpus, code, free, position = columns
    return Filled(gpus, Reasons(code, free, position), left)


@njit(cache=True)
def filled_in_order(
    order: Ints, demands: Ints, free_gpus: int, may_overtake: bool
) -> tuple[Ints, int]:
    """As `fill`, compiled: `(4, jobs)`, the GPUs and the columns of the reasons, and the remaining
    GPUs. One array, as Python gets each one only after a look at its type."""
    columns = np.zeros((4, len(demands)), np.int64)
    gpus, code, free, position = columns[0], columns[1], columns[2], columns[3]
    is_blocked = False
    for place in range(len(order)):
        row = order[place]
        position[row], free[row] = place, free_gpus
        if is_blocked:
            code[row] = _BEHIND
        elif demands[row] > free_gpus:
            code[row] = _TOO_FEW
            is_blocked = not may_overtake
        else:
            gpus[row] = demands[row]
            free_gpus -= demands[row]
    return columns, free_gpus


@njit(cache=True)
def _filled_running_first(
    order: Ints, held_gpus: Ints, demands: Ints, free_gpus: int, may_overtake: bool
) -> tuple[Ints, int]:
    """As `filled_in_order`. Behind a head that blocks only the positions are written row by row."""
    size, count, waiting = len(demands), 0, 0
    columns = np.empty((4, size), np.int64)
    gpus, code, free, position = columns[0], columns[1], columns[2], columns[3]
    gpus[:], code[:] = 0, _BEHIND
    served = np.empty(size + 1, np.int64)  # Also rows that have GPUs are written behind the others.
    for row in order:
        if held_gpus[row] > 0:
            served[count] = row
            count += 1
    for row in order:
        served[count + waiting] = row
        waiting += held_gpus[row] == 0
    place, is_blocked = 0, False
    while place < size and not is_blocked:
        row = served[place]
        position[row], free[row] = place, free_gpus
        if demands[row] > free_gpus:
            code[row] = _TOO_FEW
            is_blocked = not may_overtake
        else:
            gpus[row], code[row] = demands[row], _RUNS
            free_gpus -= demands[row]
        place += 1
    for later in range(place, size):
        position[served[later]], free[served[later]] = later, free_gpus
    return columns, free_gpus
