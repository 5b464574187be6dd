"""Orders of jobs. All are total: the last key is unique."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from motet.domain.arrays import Ints

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


def places_in(order: Ints) -> Ints:
    """By row, its position in `order`: the inverse permutation."""
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places
