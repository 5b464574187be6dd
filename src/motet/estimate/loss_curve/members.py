"""The members: curves that are fitted to every history with different families and memories.

Both of SLAQ's families with a short and a long memory, Optimus' curve over the whole history, and
three simpler ones: the latest loss, the weighted mean (for noise), and the continued latest
changes.
"""

from __future__ import annotations

from enum import IntEnum
from math import ceil, exp, log

import numpy as np
from numba import njit

from motet.domain.arrays import Floats
from motet.estimate.loss_curve.exponential import fit_exponential, level, local_trend
from motet.estimate.loss_curve.hyperbola import fit_hyperbola


class Member(IntEnum):
    """Rows of a table of members."""

    NO_CHANGE = 0
    LEVEL = 1
    LOCAL_TREND = 2
    SLAQ_LINEAR_SHORT = 3
    SLAQ_LINEAR_LONG = 4
    SLAQ_SUBLINEAR_SHORT = 5
    SLAQ_SUBLINEAR_LONG = 6
    OPTIMUS = 7

    @property
    def label(self) -> str:
        """The display name."""
        return self.name.lower().replace("_", " ")


MEMBERS = len(Member)
PARAMETERS = 4
_FIRST_HYPERBOLA = int(Member.SLAQ_SUBLINEAR_SHORT)

SHORT, LONG, LONGEST, WHOLE = 0.6, 0.8, 0.9, 1.0
"""Weight of a report relative to the next one."""
LEAST_WEIGHT = 1e-3
"""Reports with a smaller weight relative to the latest one are ignored."""
MOST_REPORTS = 66
"""Longer histories are thinned evenly to this number of reports."""


@njit(cache=True, error_model="numpy")
def fit_members(x: Floats, y: Floats, latest: float, table: Floats) -> None:
    """Fill `table: (members, 4)` with the parameters of all members, see `value_at`.

    `x: (n,)` ascending, its last is 0, in units of the usual distance between reports. `y: (n,)`
    losses. `latest`: the iteration at x = 0, in the same units.
    """
    size = len(y)
    _put(table, 0, (y[-1], 0.0, 0.0))
    _put(table, 1, level(_latest(y, _remembered(size, LONGEST)), LONGEST))
    _put(table, 2, local_trend(x, y, size))
    # A single call site inside a loop is compiled once instead of once per member.
    for member, memory in ((3, SHORT), (4, LONGEST)):
        count = _remembered(size, memory)
        _put(table, member, fit_exponential(_latest(x, count), _latest(y, count), memory))
    for member, memory, degree in ((5, SHORT, 2), (6, LONG, 2), (7, WHOLE, 1)):
        count = _remembered(size, memory)
        xs, ys = _latest(x, count), _latest(y, count)
        floor, p0, p1, p2 = fit_hyperbola(xs, ys, memory, latest, degree)
        _put(table, member, (floor, p0, p1))
        table[member, 3] = p2


@njit(cache=True, error_model="numpy")
def value_at(parameters: Floats, member: int, x: float) -> float:
    """A member's loss at x: floor + height exp(rate x), or floor + 1 / (p0 + p1 x + p2 x^2)."""
    if member < _FIRST_HYPERBOLA:
        return float(parameters[0] + parameters[1] * exp(parameters[2] * x))
    return float(parameters[0] + 1 / (parameters[1] + x * (parameters[2] + x * parameters[3])))


@njit(cache=True, error_model="numpy")
def limit(parameters: Floats, member: int) -> float:
    """The limit of a member's loss."""
    if member < _FIRST_HYPERBOLA:
        return float(parameters[0] + (parameters[1] if parameters[2] == 0.0 else 0.0))
    if parameters[2] == 0.0 and parameters[3] == 0.0:
        return float(parameters[0] + 1 / parameters[1])
    return float(parameters[0])


@njit(cache=True, error_model="numpy")
def _put(table: Floats, member: int, curve: tuple[float, float, float]) -> None:
    """Set the first three parameters of a member."""
    table[member, 0], table[member, 1], table[member, 2] = curve


@njit(cache=True, error_model="numpy")
def _remembered(size: int, memory: float) -> int:
    """How many of `size` reports have a significant weight."""
    if memory == WHOLE:
        return size
    return min(size, ceil(log(LEAST_WEIGHT) / log(memory)))


@njit(cache=True, error_model="numpy")
def _latest(values: Floats, count: int) -> Floats:
    """The last `count` values, thinned evenly to at most `MOST_REPORTS`, both ends included."""
    first, kept = len(values) - count, min(count, MOST_REPORTS)
    picked = np.empty(kept)
    picked[0] = values[first]
    for i in range(1, kept):
        picked[i] = values[first + i * (count - 1) // (kept - 1)]
    return picked
