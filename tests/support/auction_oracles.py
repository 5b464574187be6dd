"""Auctions by brute force: every allocation there is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from hypothesis import strategies as st

from motet.allocation.auction.bids import Bid
from motet.allocation.auction.line import Line, Parts
from motet.allocation.auction.rounds import AuctionOutcome, Award
from motet.estimate.finish_time import JobWork

Worth = Callable[[Parts], float]
"""1 / rho with so many GPUs on each machine; () is nothing."""
Score = tuple[int, float]
"""How many have something, and the logarithm of the product of what they have."""


def score_of(values: Sequence[float]) -> Score:
    """The larger the better: first whether few have nothing, then the product of the rest."""
    positive = [value for value in values if value > 0]
    return len(positive), math.fsum(map(math.log, positive))


def bid_from(worth: Worth, line: Line, most: int, granularity: int = 1) -> Bid:
    """The table of a bidder who values parts like that."""
    values = np.full((line.kinds, most + 1), worth(()))
    for kind, start in enumerate(line.first.tolist()):
        for gpus in range(1, min(most, line.size - start) + 1):
            values[kind, gpus] = worth(tuple(sorted(line.parts(start, gpus), reverse=True)))
    return Bid(values, granularity)


def every_allocation(free: Sequence[int], bidders: int) -> Iterator[tuple[Parts, ...]]:
    """All ways to give GPUs of machines to bidders, as parts of each; what is left stays free."""
    per_machine = [list(_shares(gpus, bidders)) for gpus in free]
    for way in itertools.product(*per_machine):
        yield tuple(
            tuple(sorted((shares[bidder] for shares in way if shares[bidder]), reverse=True))
            for bidder in range(bidders)
        )


def best_anywhere(free: Sequence[int], worths: Sequence[Worth]) -> Score:
    """The best score of all allocations."""
    ways = set(every_allocation(free, len(worths)))
    return max(score_of([w(parts) for w, parts in zip(worths, way, strict=True)]) for way in ways)


def every_row_of_stretches(
    line: Line, bids: Sequence[Bid], order: Sequence[int], start: int = 0
) -> Iterator[dict[int, float]]:
    """All allocations of stretches in `order`, as what each bidder has."""
    if not order:
        yield {}
        return
    bid, rest = bids[order[0]], order[1:]
    for others in every_row_of_stretches(line, bids, rest, start):
        yield {order[0]: bid.nothing, **others}
    for begin in range(start, line.size):
        for gpus in range(1, min(bid.most, line.size - begin) + 1):
            value = float(bid.values[line.kind[begin], gpus])
            if value > 0:
                for others in every_row_of_stretches(line, bids, rest, begin + gpus):
                    yield {order[0]: value, **others}


def best_row(line: Line, bids: Sequence[Bid], order: Sequence[int]) -> Score:
    """The best score of all allocations of stretches in `order`."""
    return max(score_of(list(row.values())) for row in every_row_of_stretches(line, bids, order))


def won(outcome: AuctionOutcome, bidder: int) -> Award | None:
    """What a bidder has won."""
    return next((award for award in outcome.awards if award.bidder == bidder), None)


def value_of(award: Award | None, line: Line, bid: Bid) -> float:
    """What it is worth by `bid`, which need not be the bid that won it."""
    if award is None or award.gpus > bid.most:
        return bid.nothing
    return max(float(bid.values[line.kind[award.start], award.gpus]), bid.nothing)


def values_in(outcome: AuctionOutcome, line: Line, bids: Sequence[Bid]) -> list[float]:
    """What all have before hidden payments."""
    return [value_of(won(outcome, row), line, bid) for row, bid in enumerate(bids)]


def utility(outcome: AuctionOutcome, bidder: int, line: Line, truth: Bid) -> float:
    """On average over the lease: c_i of it with what was won, the rest with nothing."""
    award = won(outcome, bidder)
    kept = award.kept if award else 0.0
    return kept * value_of(award, line, truth) + (1 - kept) * truth.nothing


def _shares(gpus: int, bidders: int) -> Iterator[tuple[int, ...]]:
    if bidders == 0:
        yield ()
        return
    for share in range(gpus + 1):
        for rest in _shares(gpus - share, bidders - 1):
            yield (share, *rest)


worth_values = st.one_of(st.just(0.0), st.floats(0.01, 10))


@st.composite
def tables(draw: st.DrawFn, line: Line, most: int = 4) -> Bid:
    """Any bid for a line, as strange as it may be."""
    longest = draw(st.integers(1, most))
    nothing = draw(worth_values)
    values = draw(
        st.lists(worth_values, min_size=line.kinds * longest, max_size=line.kinds * longest)
    )
    body = np.array(values).reshape(line.kinds, longest)
    return Bid(np.column_stack([np.full(line.kinds, nothing), body]))


@st.composite
def by_count(draw: st.DrawFn, most: int = 6, *, is_zero_at_nothing: bool = False) -> list[float]:
    """Values of 0, 1, 2, ... GPUs that never fall, wherever these are."""
    size = draw(st.integers(1, most)) + 1
    values = sorted(draw(st.lists(st.floats(0.01, 10), min_size=size, max_size=size)))
    if is_zero_at_nothing or draw(st.booleans()):
        values[0] = 0.0
    return values


def counted(values: Sequence[float]) -> Worth:
    """A bidder who minds only how many GPUs it has."""
    return lambda parts: values[min(sum(parts), len(values) - 1)]


@st.composite
def works_by_width(draw: st.DrawFn, most: int = 6, service_gpu_s: float = 100.0) -> JobWork:
    """An elastic job that can run on some numbers of GPUs only, ever faster with more of them."""
    widths = sorted(draw(st.sets(st.integers(1, most), min_size=1, max_size=4)))
    gains = draw(st.lists(st.floats(0.1, 3.0), min_size=len(widths), max_size=len(widths)))
    speeds = dict(zip(widths, itertools.accumulate(gains), strict=True))
    every = tuple(speeds.get(gpus, 0.0) for gpus in range(widths[0], widths[-1] + 1))
    return JobWork(service_gpu_s, widths[0], widths[-1], every)
