"""All-or-none allocation of GPUs to gangs in a policy's order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from motet.domain.arrays import Ints
from motet.domain.decision import Reasons
from motet.domain.wait import Wait

_TOO_FEW, _BEHIND = int(Wait.TOO_FEW_GPUS), int(Wait.BEHIND_HEAD)


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
    gpus, code, free, position, left = _fill(order, demands, free_gpus, may_overtake)
    return Filled(gpus, Reasons(code, free, position), left)


@njit(cache=True)
def _fill(
    order: Ints, demands: Ints, free_gpus: int, may_overtake: bool
) -> tuple[Ints, Ints, Ints, Ints, int]:
    size = len(demands)
    gpus = np.zeros(size, np.int64)
    code = np.zeros(size, np.int64)
    free = np.zeros(size, np.int64)
    position = np.zeros(size, np.int64)
    is_blocked = False
    for place in range(len(order)):
        row = order[place]
        position[row] = place
        free[row] = free_gpus
        if is_blocked:
            code[row] = _BEHIND
        elif demands[row] > free_gpus:
            code[row] = _TOO_FEW
            is_blocked = not may_overtake
        else:
            gpus[row] = demands[row]
            free_gpus -= demands[row]
    return gpus, code, free, position, free_gpus
