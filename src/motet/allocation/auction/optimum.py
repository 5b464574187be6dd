"""Who gets which stretch: the largest product of values, with everybody and without each.

Bidders stand in an order and get disjoint stretches of the line in that order; GPUs between them
stay free. With f_i(p) the largest product of the first i bidders on the first p GPUs,

    f_i(p) = max( f_i(p - 1),  f_{i-1}(p) v_i(nothing),  max_n f_{i-1}(p - n) v_i(p - n, n) ),

and the same from the other end. Without bidder i it is max over p of the first i-1 before p times
the rest behind p, so all of these cost no more than two passes: O(bidders * GPUs * longest bid).

Everything is in logarithms. A value of 0 counts as one that is smaller than any product of others:
first as few as can be go without anything, then the product of the rest is as large as can be
(maximum Nash welfare; Caragiannis et al., EC 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from motet.allocation.auction.bids import Bid
from motet.allocation.auction.line import Line
from motet.domain.arrays import Floats, Ints

_IDLE = -1
_BEYOND_ANY_PRODUCT = 1e3


class Optimum(NamedTuple):
    """`start`, `gpus: (bidders,)`: their stretches; no GPUs: nothing. `log_product`: of all values.

    `log_without: (bidders,)`: the largest product of the others' values if one had not come.
    """

    start: Ints
    gpus: Ints
    log_product: float
    log_without: Floats


def log_values(bids: Sequence[Bid], kinds: int) -> Floats:
    """`(bidders, kinds, most + 1)`: minus infinity for what is not wanted, finite for nothing."""
    longest = max((bid.most for bid in bids), default=0)
    values = np.zeros((len(bids), kinds, longest + 1))
    for row, bid in enumerate(bids):
        values[row, :, : bid.most + 1] = bid.values
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    nothing = logs[:, :, 0]
    nothing[np.isneginf(nothing)] = -_beyond_products(logs)
    return logs


def best_in(order: Sequence[int] | Ints, line: Line, logs: Floats) -> Optimum:
    """The best allocation that keeps `order` (bidders along the line)."""
    rows = np.asarray(order, dtype=np.int64)
    behind, taken = _from_the_end(rows, logs, line.kind)
    before = _from_the_front(rows, logs, line.kind)
    start, gpus = _stretches(rows, taken)
    without = np.empty(len(rows))
    without[rows] = (before[:-1] + behind[1:]).max(axis=1)
    return Optimum(start, gpus, float(behind[0, 0]), without)


def log_bound(line: Line, logs: Floats) -> float:
    """No allocation of as many GPUs, in whatever order and place, has a larger product.

    Each number of GPUs counts as if it lay at the best place for it. Reached: the optimum of all.
    """
    anywhere = np.maximum.accumulate(logs.max(axis=1, keepdims=True), axis=2)
    one_kind = np.zeros(line.size + 1, dtype=np.int64)
    behind, _ = _from_the_end(np.arange(len(logs)), anywhere, one_kind)
    return float(behind[0, 0])


def _beyond_products(logs: Floats) -> float:
    """More than any two products of values other than 0 can differ by."""
    finite = np.isfinite(logs)
    highest = logs.max(axis=(1, 2), where=finite, initial=-np.inf)
    lowest = logs.min(axis=(1, 2), where=finite, initial=np.inf)
    ranges = (highest - lowest)[np.isfinite(highest)]
    largest = np.abs(logs).max(where=finite, initial=0.0)
    return _BEYOND_ANY_PRODUCT + float(ranges.sum()) + float(largest)


def _stretches(rows: Ints, taken: Ints) -> tuple[Ints, Ints]:
    starts, gpus = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    at = 0
    for place, row in enumerate(rows.tolist()):
        while taken[place, at] == _IDLE:
            at += 1
        starts[row], gpus[row] = at, taken[place, at]
        at += int(gpus[row])
    return starts, gpus


@njit(cache=True)
def _from_the_end(rows: Ints, logs: Floats, kind: Ints) -> tuple[Floats, Ints]:
    """`best[i, p]`: bidders from place i on, on the GPUs from p on; `taken[i, p]`: by i there."""
    size = len(kind) - 1
    longest = logs.shape[2] - 1
    best = np.zeros((len(rows) + 1, size + 1))
    taken = np.zeros((len(rows), size + 1), np.int64)
    for place in range(len(rows) - 1, -1, -1):
        bid = logs[rows[place]]
        for start in range(size, -1, -1):
            most, gpus = best[place + 1, start] + bid[0, 0], 0
            values = bid[kind[start]]
            for wanted in range(1, min(longest, size - start) + 1):
                found = values[wanted] + best[place + 1, start + wanted]
                if found > most:
                    most, gpus = found, wanted
            if start < size and best[place, start + 1] >= most:
                most, gpus = best[place, start + 1], _IDLE
            best[place, start], taken[place, start] = most, gpus
    return best, taken


@njit(cache=True)
def _from_the_front(rows: Ints, logs: Floats, kind: Ints) -> Floats:
    """`best[i, p]`: the first i bidders on the first p GPUs."""
    size = len(kind) - 1
    longest = logs.shape[2] - 1
    best = np.zeros((len(rows) + 1, size + 1))
    for place in range(len(rows)):
        bid = logs[rows[place]]
        for end in range(size + 1):
            most = best[place, end] + bid[0, 0]
            for wanted in range(1, min(longest, end) + 1):
                found = bid[kind[end - wanted], wanted] + best[place, end - wanted]
                most = max(most, found)
            if end > 0:
                most = max(most, best[place + 1, end - 1])
            best[place + 1, end] = most
    return best
