"""One round of the partial-allocation auction: winners by proportional fairness, hidden payments.

Cole, Gkatzelis and Goel (EC 2013), as Themis uses it (section 4.2): of all allocations the one with
the largest product of values v_i = 1 / rho_i is taken, and winner i keeps the fraction

    c_i = (product of the others' values in it) / (product of the others' values had i not come)

of what it won. So its utility is c_i v_i = (product of all values) / (what does not depend on its
bid): whatever a bidder gains by a lie makes the product of the *true* values smaller.
`docs/decisions/0021-an-auction-of-stretches.md` says what is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.allocation.auction.bids import Bid
from motet.allocation.auction.line import Line
from motet.allocation.auction.optimum import Optimum, best_in, log_bound, log_values
from motet.domain.arrays import Ints
from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement

Order = tuple[int, ...]


@dataclass(frozen=True)
class Award:
    """`bidder` (its place among the bids) won the `gpus` GPUs of the line from `start` on.

    `value`: 1 / rho with them, as it was bid. `kept`: the fraction c_i, 0 to 1, left to it by its
    hidden payment.
    """

    bidder: int
    start: int
    gpus: int
    placement: Placement
    value: float
    kept: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """`awards`: of the winners, by bidder. `free_gpus`: by machine, what nobody won.

    `log_product`: of all bidders' values; `log_bound`: no allocation has a larger one, whether
    it is in the order of the line or not. Both count 0 as `optimum` does.
    """

    awards: tuple[Award, ...]
    free_gpus: Ints
    log_product: float
    log_bound: float


def hold_auction(line: Line, bids: Sequence[Bid], orders: Sequence[Order] = ()) -> Outcome:
    """The outcome of one round.

    `orders`: in which bidders may stand along the line, the best of them is taken; none: only
    `by_granularity`. They must not depend on values, or truth-telling is not best any more.
    `by_granularity` and `shuffled` make some. Raises BadInput.
    """
    if any(bid.values.shape[0] != line.kinds for bid in bids):
        raise BadInput(f"bids are for another line: this one has {line.kinds} kinds of starts")
    if line.reach < line.size and any(bid.most > line.reach for bid in bids):
        raise BadInput(f"a bid for more than the line's reach of {line.reach} GPUs: raise reach")
    chosen = orders or (by_granularity(bids),)
    if any(sorted(order) != list(range(len(bids))) for order in chosen):
        raise BadInput(f"an order must name each of the {len(bids)} bidders once")
    logs = log_values(bids, line.kinds)
    tried = [best_in(order, line, logs) for order in chosen]
    best = max(tried, key=lambda optimum: optimum.log_product)
    log_without = np.max([optimum.log_without for optimum in tried], axis=0)
    awards = tuple(
        _award(bidder, line, bids[bidder], best, float(log_without[bidder]))
        for bidder in np.flatnonzero(best.gpus).tolist()
    )
    return Outcome(awards, _left(line, awards), best.log_product, log_bound(line, logs))


def by_granularity(bids: Sequence[Bid]) -> Order:
    """Largest gangs first: gangs whose sizes divide each other leave no gaps."""
    return tuple(sorted(range(len(bids)), key=lambda bidder: -bids[bidder].granularity))


def shuffled(bids: Sequence[Bid], rng: np.random.Generator, count: int) -> tuple[Order, ...]:
    """`count` orders: `by_granularity`, then drawn by lot."""
    drawn = (tuple(rng.permutation(len(bids)).tolist()) for _ in range(count - 1))
    return (by_granularity(bids), *drawn)


def _award(bidder: int, line: Line, bid: Bid, best: Optimum, log_without: float) -> Award:
    start, gpus = int(best.start[bidder]), int(best.gpus[bidder])
    value = float(bid.values[line.kind[start], gpus])
    log_others = best.log_product - math.log(value)
    kept = math.exp(min(log_others - log_without, 0.0))
    return Award(bidder, start, gpus, line.placement(start, gpus), value, kept)


def _left(line: Line, awards: Sequence[Award]) -> Ints:
    is_free = np.ones(line.size, dtype=bool)
    for award in awards:
        is_free[award.start : award.start + award.gpus] = False
    return np.bincount(line.machine[is_free], minlength=line.machine_count).astype(np.int64)
