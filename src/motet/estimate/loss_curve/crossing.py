"""Crossing points of falling blends: doubling, then bisection."""

from __future__ import annotations

import numpy as np
from numba import njit

from motet.domain.arrays import Floats
from motet.estimate.loss_curve.blend import blended

FARTHEST = 2.0**40
"""Crossings beyond this number of reports count as infinite."""
BISECTIONS = 60


@njit(cache=True)
def reach(tables: Floats, weights: Floats, targets: Floats) -> Floats:
    """The first x >= 0 at which every job's blend is at most its target, `(jobs,)`; or infinity."""
    x = np.empty(len(targets))
    for job in range(len(targets)):
        x[job] = _first_below(tables[job], weights[job], targets[job], 0.0)
    return x


@njit(cache=True)
def settle(tables: Floats, weights: Floats, steps: Floats, changes: Floats) -> Floats:
    """The first x >= 0 from which `steps` more lower a blend by at most `changes`, `(jobs,)`."""
    x = np.empty(len(changes))
    for job in range(len(changes)):
        x[job] = _first_below(tables[job], weights[job], changes[job], steps[job])
    return x


@njit(cache=True)
def _first_below(table: Floats, weights: Floats, bound: float, step: float) -> float:
    if _height(table, weights, 0.0, step) <= bound:
        return 0.0
    low, high = 0.0, 1.0
    while _height(table, weights, high, step) > bound:
        low, high = high, high * 2
        if high > FARTHEST:
            return np.inf
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _height(table, weights, middle, step) > bound:
            low = middle
        else:
            high = middle
    return high


@njit(cache=True)
def _height(table: Floats, weights: Floats, x: float, step: float) -> float:
    """y at x, or its decrease within the next step if there is a step."""
    y = blended(table, weights, x)
    return y if step == 0.0 else y - blended(table, weights, x + step)
