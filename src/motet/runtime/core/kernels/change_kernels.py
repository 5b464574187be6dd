"""Compiled loops over changes of integers: one pass each, without arrays between."""

from __future__ import annotations

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.transport.native.compiled import njit


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
    values: Array, firsts: Indices, ends: Indices, changes: tuple[Array, Array], counts: Indices
) -> bool:
    """Add to blocks of `values: (n,)`; False, with nothing changed, if a position is outside.

    Block b is `values[firsts[b] : ends[b]]`; its changes (positions in it, amounts) are the next
    `counts[b]` (negative: none).
    """
    positions, amounts = changes
    start = 0
    for block in range(len(firsts)):
        size = ends[block] - firsts[block]
        stop = start + max(counts[block], 0)
        for place in range(start, stop):
            if positions[place] < 0 or positions[place] >= size:
                return False
        start = stop
    start = 0
    for block in range(len(firsts)):
        first = np.uint64(firsts[block])
        stop = start + max(counts[block], 0)
        for place in range(np.uint64(start), np.uint64(stop)):
            values[first + np.uint64(positions[place])] += amounts[place]
        start = stop
    return True


@njit(cache=True, nogil=True)
def divide_by_blocks(positions: Array, amounts: Array, bounds: Indices, out: Array) -> Indices:
    """Write changes of a table to `out: (2, n)`, with positions in their blocks.

    Block b is from `bounds[b]` to `bounds[b + 1]`; changes of a block follow those of the blocks
    before it. Returns how many each block has.
    """
    counts = np.zeros(len(bounds) - 1, np.int64)
    block, start = 0, 0
    for place in range(len(positions)):
        position = positions[place]
        while position >= bounds[block + 1]:
            counts[block] = place - start
            block, start = block + 1, place
        out[0, place] = position - bounds[block]
        out[1, place] = amounts[place]
    if len(counts):
        counts[block] = len(positions) - start
    return counts


@njit(cache=True, nogil=True)
def shift_positions(positions: Array, ends: Indices, shifts: Indices, out: Array) -> None:
    """Add `shifts[b]` to the positions of block b, which are those before `ends[b]`."""
    start = 0
    for block in range(len(ends)):
        for place in range(start, ends[block]):
            out[place] = positions[place] + shifts[block]
        start = ends[block]
