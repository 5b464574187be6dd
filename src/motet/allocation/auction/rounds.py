"""One round of the partial-allocation auction: winners by proportional fairness, hidden payments.

Cole, Gkatzelis and Goel (EC 2013), as in Themis (section 4.2): the mechanism takes the allocation
with the largest product of values v_i = 1 / rho_i, and winner i keeps the fraction

    c_i = (product of the others' values in it) / (product of the others' values without bidder i)

of its award. Its utility is therefore c_i v_i = (product of all values) / (a term independent of
its bid): an untruthful bid only decreases the product of the *true* values.
`docs/decisions/0021-an-auction-of-stretches.md` states which properties are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from motet.allocation.auction.bids import Bid
from motet.allocation.auction.line import Line
from motet.allocation.auction.optimum import LogValues, Optimum, best_in
from motet.domain.arrays import Ints
from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement

Order = tuple[int, ...]


@dataclass(frozen=True)
class Award:
    """`bidder` (its index among the bids) won the `gpus` GPUs of the line from `start` on.

    `value`: 1 / rho with them, as bid. `kept`: the fraction c_i, 0 to 1, after the hidden payment.
    """

    bidder: int
    start: int
    gpus: int
    placement: Placement
    value: float
    kept: float


@dataclass(frozen=True, eq=False)
class AuctionOutcome:
    """`awards`: of the winners, by bidder. `free_gpus`: unsold GPUs by machine.

    `log_product`: of all bidders' values; a value of 0 counts as in `optimum`.
    """

    awards: tuple[Award, ...]
    free_gpus: Ints
    log_product: float


def hold_auction(line: Line, bids: Sequence[Bid], orders: Sequence[Order] = ()) -> AuctionOutcome:
    """The outcome of one round.

    `orders`: candidate orders of bidders along the line; the best one is used; none: only
    `by_granularity`. Orders must not depend on values, otherwise truthful bids are no longer
    optimal. `by_granularity` and `shuffled` create orders. Raises BadInput.
    """
    if any(bid.values.shape[0] != line.kinds for bid in bids):
        raise BadInput(f"bids are for another line: this one has {line.kinds} kinds of starts")
    if line.reach < line.size and any(bid.most > line.reach for bid in bids):
        raise BadInput(f"a bid for more than the line's reach of {line.reach} GPUs: raise reach")
    chosen = orders or (by_granularity(bids),)
    if any(sorted(order) != list(range(len(bids))) for order in chosen):
        raise BadInput(f"an order must name each of the {len(bids)} bidders once")
    logs = LogValues.of(bids)
    tried = [best_in(order, line, logs) for order in chosen]
    best = max(tried, key=lambda optimum: optimum.log_product)
    log_without = np.max([optimum.log_without for optimum in tried], axis=0)
    awards = tuple(
        _award(bidder, line, bids[bidder], best, float(log_without[bidder]))
        for bidder in np.flatnonzero(best.gpus).tolist()
    )
    return AuctionOutcome(awards, _left(line, awards), best.log_product)


def by_granularity(bids: Sequence[Bid]) -> Order:
    """Largest gangs first: gangs whose sizes divide each other leave no gaps."""
    return tuple(sorted(range(len(bids)), key=lambda bidder: -bids[bidder].granularity))


def shuffled(bids: Sequence[Bid], rng: np.random.Generator, count: int) -> tuple[Order, ...]:
    """`count` orders: `by_granularity`, then random permutations."""
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
