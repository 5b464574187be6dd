"""Allocation of stretches with the largest product of values, with all bidders and without each.

Bidders have an order and get disjoint stretches of the line in that order; GPUs between them stay
free. With f_i(p) the largest product of the first i bidders on the first p GPUs,

    f_i(p) = max( f_i(p - 1),  f_{i-1}(p) v_i(nothing),  max_n f_{i-1}(p - n) v_i(p - n, n) ),

and the same from the other end. Without bidder i it is the maximum over p of the first i-1 before p
times the rest behind p, so two passes compute all of these products. A pass costs O(bidders * GPUs
* lengths with a higher value than every shorter one); a bidder gets no other length.

All computations use logarithms. A value of 0 counts as a value smaller than any product of others:
the optimum first minimises the number of bidders with value 0, then maximises the product of the
rest (maximum Nash welfare; Caragiannis et al., EC 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numba import njit

from motet.allocation.auction.bids import Bid
from motet.allocation.auction.line import Line
from motet.domain.arrays import Floats, Ints

_BEYOND_ANY_PRODUCT = 1e3
_BLOCK = 64
"""Bidders between two checkpoints."""


class Optimum(NamedTuple):
    """`start`, `gpus: (bidders,)`: stretches; 0 GPUs: nothing. `log_product`: of all values.

    `log_without: (bidders,)`: the largest product of the others' values without each bidder.
    """

    start: Ints
    gpus: Ints
    log_product: float
    log_without: Floats


class LogValues(NamedTuple):
    """Logarithms of values. `nothing: (bidders,)`: finite. Entries of a bidder start at
    `first[bidder]`: stretch lengths `gpus`, ascending, with `value: (entries, kinds)` by kind of
    start; minus infinity where a shorter stretch, or nothing, has the same value.
    """

    nothing: Floats
    first: Ints
    gpus: Ints
    value: Floats

    @classmethod
    def of(cls, bids: Sequence[Bid]) -> Self:
        """Logarithms of these bids; all bids have the same number of kinds."""
        tables = [np.zeros(0), *(bid.values.ravel() for bid in bids)]
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate(tables))
        widths = np.array([bid.most + 1 for bid in bids], dtype=np.int64)
        kinds = bids[0].values.shape[0] if bids else 1
        ends = np.cumsum(widths) * kinds
        nothing = logs[ends - widths * kinds]
        nothing[np.isneginf(nothing)] = -_beyond_products(logs, ends)
        return cls(nothing, *_ascending(logs, widths, kinds, nothing))


def best_in(order: Sequence[int] | Ints, line: Line, logs: LogValues) -> Optimum:
    """The best allocation that keeps `order` (bidders along the line)."""
    rows = np.asarray(order, dtype=np.int64)
    return Optimum(*_optimum(rows, logs, line.kind))


def log_bound(line: Line, bids: Sequence[Bid]) -> float:
    """Upper bound of the product over all allocations of as many GPUs, in any order and place.

    Values each number of GPUs at its best place. An allocation that reaches the bound is optimal.
    """
    best = LogValues.of([Bid(bid.values.max(axis=0, keepdims=True)) for bid in bids])
    logs = best._replace(nothing=LogValues.of(bids).nothing)
    one_kind = np.zeros(line.size + 1, dtype=np.int64)
    return float(_checkpoints(np.arange(len(bids)), logs, one_kind)[0, 0])


def _beyond_products(logs: Floats, ends: Ints) -> float:
    """More than any difference between two products of values other than 0."""
    ranges, largest = _ranges(logs, ends)
    return _BEYOND_ANY_PRODUCT + float(ranges[np.isfinite(ranges)].sum()) + float(largest)


@njit(cache=True)
def _ranges(logs: Floats, ends: Ints) -> tuple[Floats, float]:
    """The range of each bidder's finite values (not finite: it has none), and the largest value."""
    ranges, largest, entry = np.empty(len(ends)), 0.0, 0
    for bidder in range(len(ends)):
        lowest, highest = np.inf, -np.inf
        while entry < ends[bidder]:
            if np.isfinite(logs[entry]):
                lowest, highest = min(lowest, logs[entry]), max(highest, logs[entry])
                largest = max(largest, abs(logs[entry]))
            entry += 1
        ranges[bidder] = highest - lowest
    return ranges, largest


@njit(cache=True)
def _ascending(
    logs: Floats, widths: Ints, kinds: int, nothing: Floats
) -> tuple[Ints, Ints, Floats]:
    """The other columns of `LogValues`."""
    first, most = np.zeros(len(widths) + 1, np.int64), widths.sum()
    gpus, value = np.empty(most, np.int64), np.full((most, kinds), -np.inf)
    begin, end = 0, 0
    for bidder in range(len(widths)):
        highest = np.full(kinds, nothing[bidder])
        for count in range(1, widths[bidder]):
            is_worth_more = False
            for kind in range(kinds):
                found = logs[begin + kind * widths[bidder] + count]
                if found > highest[kind]:
                    value[end, kind] = highest[kind] = found
                    is_worth_more = True
            if is_worth_more:
                gpus[end] = count
                end += 1
        begin += kinds * widths[bidder]
        first[bidder + 1] = end
    return first, gpus[:end].copy(), value[:end].copy()


# -- the two passes --------------------------------------------------------------------------------


@njit(cache=True)
def _optimum(rows: Ints, logs: LogValues, kind: Ints) -> tuple[Ints, Ints, float, Floats]:
    """The columns of `Optimum`.

    The backward pass stores checkpoints and is repeated block by block: a whole table of bidders x
    GPUs would not fit a cache.
    """
    starts, gpus = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    without, at = np.empty(len(rows)), 0
    checkpoints = _checkpoints(rows, logs, kind)
    behind = np.empty((_BLOCK + 1, len(kind)))
    before, here = np.zeros(len(kind)), np.empty(len(kind))
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK]
        # A loop: for an array assigned to a slice, each process compiles an error message.
        for gpu in range(len(kind)):
            behind[len(block), gpu] = checkpoints[begin // _BLOCK + 1, gpu]
        for place in range(len(block) - 1, -1, -1):
            _step_back(block[place], behind[place + 1], behind[place], logs, kind)
        for place in range(len(block)):
            bidder, after = block[place], behind[place + 1]
            without[bidder] = _largest_sum(before, after)
            starts[bidder], gpus[bidder] = _stretch(bidder, at, behind[place], after, logs, kind)
            at = starts[bidder] + gpus[bidder]
            _step_forward(bidder, before, here, logs, kind)
            before, here = here, before
    return starts, gpus, checkpoints[0, 0], without


@njit(cache=True)
def _checkpoints(rows: Ints, logs: LogValues, kind: Ints) -> Floats:
    """`[i, p]`: the largest product of the bidders from place i * _BLOCK on, on the GPUs from p on;
    the last row is of no bidder.
    """
    blocks = -(-len(rows) // _BLOCK)
    kept = np.zeros((blocks + 1, len(kind)))
    after, here = np.zeros(len(kind)), np.empty(len(kind))
    for place in range(len(rows) - 1, -1, -1):
        _step_back(rows[place], after, here, logs, kind)
        after, here = here, after
        if place % _BLOCK == 0:
            for gpu in range(len(kind)):
                kept[place // _BLOCK, gpu] = after[gpu]
    return kept


@njit(cache=True)
def _step_back(bidder: int, after: Floats, here: Floats, logs: LogValues, kind: Ints) -> None:
    """`here[p]`: including this bidder, on the GPUs from p on; `after`: of the
    bidders behind it.
    """
    size, nothing = len(kind) - 1, logs.nothing[bidder]
    for start in range(size + 1):
        here[start] = after[start] + nothing
    for entry in range(logs.first[bidder], logs.first[bidder + 1]):
        length, value = logs.gpus[entry], logs.value[entry]
        for start in range(size - length + 1):
            here[start] = max(here[start], value[kind[start]] + after[start + length])
    for start in range(size - 1, -1, -1):
        here[start] = max(here[start], here[start + 1])


@njit(cache=True)
def _step_forward(bidder: int, before: Floats, here: Floats, logs: LogValues, kind: Ints) -> None:
    """`here[p]`: including this bidder, on the first p GPUs; `before`: of the bidders before it."""
    size, nothing = len(kind) - 1, logs.nothing[bidder]
    for end in range(size + 1):
        here[end] = before[end] + nothing
    for entry in range(logs.first[bidder], logs.first[bidder + 1]):
        length, value = logs.gpus[entry], logs.value[entry]
        for start in range(size - length + 1):
            end = start + length
            here[end] = max(here[end], before[start] + value[kind[start]])
    for end in range(1, size + 1):
        here[end] = max(here[end], here[end - 1])


@njit(cache=True)
def _largest_sum(before: Floats, after: Floats) -> float:
    most = -np.inf
    for place in range(len(before)):
        most = max(most, before[place] + after[place])
    return most


@njit(cache=True)
def _stretch(
    bidder: int, at: int, here: Floats, after: Floats, logs: LogValues, kind: Ints
) -> tuple[int, int]:
    """Start, at `at` or later, and length. Leaves a GPU free where that costs nothing."""
    most, length = _best_at(bidder, at, after, logs, kind)
    while at < len(kind) - 1 and here[at + 1] >= most:
        at += 1
        most, length = _best_at(bidder, at, after, logs, kind)
    return at, length


@njit(cache=True)
def _best_at(
    bidder: int, start: int, after: Floats, logs: LogValues, kind: Ints
) -> tuple[float, int]:
    """The largest product with this bidder at `start`, and the length of its stretch, the shortest
    of equals.
    """
    most, length = after[start] + logs.nothing[bidder], 0
    for entry in range(logs.first[bidder], logs.first[bidder + 1]):
        if start + logs.gpus[entry] >= len(kind):
            break
        found = logs.value[entry, kind[start]] + after[start + logs.gpus[entry]]
        if found > most:
            most, length = found, logs.gpus[entry]
    return most, length
