"""Compiled loops over changes of integers: one pass each, without arrays between."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.core.kernels.compiled import njit


@njit(cache=True, nogil=True)
def add_at(values: Array, positions: Array, amounts: Array) -> bool:
    """Add to `values: (n,)`; False, with nothing changed, if a position is outside of it."""
    if len(positions) == 0:
        return True
    if positions.min() < 0 or positions.max() >= len(values):
        return False
    for place in range(len(positions)):
        values[np.uint64(positions[place])] += amounts[place]
    return True


@njit(cache=True, nogil=True)
def add_in_blocks(
    values: Array, firsts: Indices, ends: Indices, changes: tuple[Array, Array], bounds: Indices
) -> bool:
    """Add to blocks of `values: (n,)`; False, with nothing changed, if a position is outside.

    Block b is `values[firsts[b] : ends[b]]`; its changes (positions in it, amounts) are those
    from `bounds[b]` to `bounds[b + 1]`.
    """
    positions, amounts = changes
    for block in range(len(firsts)):
        size = ends[block] - firsts[block]
        for place in range(bounds[block], bounds[block + 1]):
            if positions[place] < 0 or positions[place] >= size:
                return False
    for block in range(len(firsts)):
        first = np.uint64(firsts[block])
        for place in range(np.uint64(bounds[block]), np.uint64(bounds[block + 1])):
            values[first + np.uint64(positions[place])] += amounts[place]
    return True


@njit(cache=True, nogil=True)
def shift_positions(positions: Array, ends: Indices, shifts: Indices, out: Array) -> None:
    """Add `shifts[b]` to the positions of block b, which are those before `ends[b]`."""
    start = 0
    for block in range(len(ends)):
        for place in range(start, ends[block]):
            out[place] = positions[place] + shifts[block]
        start = ends[block]
