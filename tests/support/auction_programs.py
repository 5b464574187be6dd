"""The auction's dynamic programs without what makes them fast: every length, both tables whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.allocation.auction.bids import Bid
from motet.allocation.auction.line import Line
from motet.allocation.auction.optimum import Optimum
from motet.domain.arrays import Floats, Ints

_IDLE = -1
_BEYOND_ANY_PRODUCT = 1e3


def plain_best_in(order: Sequence[int], line: Line, bids: Sequence[Bid]) -> Optimum:
    """What `best_in` finds."""
    logs, rows = _log_values(bids, line.kinds), np.array(order, dtype=np.int64)
    behind, taken = _from_the_end(rows, logs, line.kind)
    before = _from_the_front(rows, logs, line.kind)
    start, gpus = _stretches(rows, taken)
    without = np.empty(len(rows))
    without[rows] = (before[:-1] + behind[1:]).max(axis=1)
    return Optimum(start, gpus, float(behind[0, 0]), without)


def _log_values(bids: Sequence[Bid], kinds: int) -> Floats:
    longest = max((bid.most for bid in bids), default=0)
    values = np.zeros((len(bids), kinds, longest + 1))
    for row, bid in enumerate(bids):
        values[row, :, : bid.most + 1] = bid.values
    with np.errstate(divide="ignore"):
        logs = np.log(values)
    nothing = logs[:, :, 0]
    nothing[np.isneginf(nothing)] = -_beyond_products(logs)
    return logs


def _beyond_products(logs: Floats) -> float:
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


def _from_the_end(rows: Ints, logs: Floats, kind: Ints) -> tuple[Floats, Ints]:
    size, longest = len(kind) - 1, logs.shape[2] - 1
    best = np.zeros((len(rows) + 1, size + 1))
    taken = np.zeros((len(rows), size + 1), np.int64)
    for place in range(len(rows) - 1, -1, -1):
        bid = logs[rows[place]]
        for start in range(size, -1, -1):
            most, gpus = best[place + 1, start] + bid[0, 0], 0
            for wanted in range(1, min(longest, size - start) + 1):
                found = bid[kind[start], wanted] + best[place + 1, start + wanted]
                if found > most:
                    most, gpus = found, wanted
            if start < size and best[place, start + 1] >= most:
                most, gpus = best[place, start + 1], _IDLE
            best[place, start], taken[place, start] = most, gpus
    return best, taken


def _from_the_front(rows: Ints, logs: Floats, kind: Ints) -> Floats:
    size, longest = len(kind) - 1, logs.shape[2] - 1
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
