"""CPU-seconds of Themis' auction with all hidden payments, its distance to the optimum, its price.

A hundred experiments bid for an empty cluster of 64 machines of 4 GPUs, or for the GPUs that are
free on a busy one: gangs of 1 to 16 GPUs, elastic jobs, and searches of several jobs, of models
that mind being spread as Tiresias measured it. Nobody is filtered out (f = 0).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from motet.allocation.auction.bids import Bid, BiddingExperiment, bid_of
from motet.allocation.auction.line import Line, Parts, SlowdownOf
from motet.allocation.auction.optimum import log_bound
from motet.allocation.auction.rounds import AuctionOutcome, hold_auction, shuffled
from motet.domain.arrays import Ints
from motet.estimate.finish_time import JobWork, ideal_s
from motet.estimate.spread import spread_slowdown
from support.figures import Figure, parser, report

Result = TypeVar("Result")
EXPERIMENTS = 100
AUCTION_LIMIT_S = 0.5
SKEWS = (0.04, 0.72, 0.61)
"""ResNet101, VGG16, AlexNet."""
ORDERS = 8
REACH = 32
"""Nobody can use more GPUs."""


def slowdown_of(skew: float, machine_gpus: int) -> SlowdownOf:
    """By the largest part of a gang, as it is simulated."""

    def slowdown(parts: Parts) -> float:
        return spread_slowdown(skew, parts, machine_gpus)

    return slowdown


def experiment(rng: np.random.Generator, share_gpus: float) -> BiddingExperiment:
    """One of three sorts, somewhere in its life."""
    sort = rng.integers(3)
    service = rng.uniform(1e3, 1e5, 8)
    gang = int(rng.choice([1, 2, 4, 8, 16], p=[0.5, 0.15, 0.2, 0.1, 0.05]))
    if sort == 0:
        jobs = (JobWork.gang(service[0], gang),)
    elif sort == 1:
        jobs = (JobWork.elastic(service[0], 16),)
    else:
        jobs = tuple(JobWork.gang(each, min(gang, 4)) for each in service[: rng.integers(2, 9)])
    alone_s = ideal_s(jobs, share_gpus)
    return BiddingExperiment(jobs, alone_s * rng.exponential(1.0), alone_s * rng.uniform(1, 2))


def bids_for(
    line: Line,
    machine_gpus: int,
    share_gpus: float,
    seed: int,
    count: int,
    wait_s: float = math.inf,
) -> list[Bid]:
    """What `count` experiments bid; whoever wins nothing has its share `wait_s` later."""
    rng = np.random.default_rng(seed)
    tables = [line.slowdowns(slowdown_of(skew, machine_gpus), REACH) for skew in SKEWS]
    bidders = [experiment(rng, share_gpus) for _ in range(count)]
    return [
        bid_of(
            each,
            line,
            tables[rng.integers(len(SKEWS))],
            waiting_rho=each.rho(min(share_gpus, each.most), wait_s),
        )
        for each in bidders
    ]


def busy(machines: int, gpus: int, seed: int) -> Ints:
    """Free GPUs of machines each of which has any number of them free."""
    return np.random.default_rng(seed).integers(0, gpus + 1, machines)


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """The result and the CPU-seconds it took."""
    began_s = time.process_time()
    return work(), time.process_time() - began_s


def speeds(
    name: str, free: list[Ints], gpus: int, count: int, limit_s: float | None
) -> list[Figure]:
    """Bids, an auction in one order and one in several: the slowest."""
    share = gpus * len(free[0]) / count
    laid = [timed(lambda each=each: Line.of(each, REACH)) for each in free]
    lines = [line for line, _ in laid]
    made = [
        timed(lambda line=line, seed=seed: bids_for(line, gpus, share, seed, count))
        for seed, line in enumerate(lines)
    ]
    laid_s = [taken_s for _, taken_s in laid]
    both_s = [before_s + taken_s for before_s, (_, taken_s) in zip(laid_s, made, strict=True)]
    figures = [_slowest(f"{name}: line and all bids", both_s, None)]
    for orders in (1, ORDERS):
        taken_s = [
            timed(lambda line=line, bids=bids, orders=orders: held(line, bids, orders))[1]
            for line, (bids, _) in zip(lines, made, strict=True)
        ]
        figures.append(_slowest(f"{name}: auction, {orders} orders", taken_s, limit_s))
    return figures


def held(line: Line, bids: list[Bid], orders: int) -> AuctionOutcome:
    """An auction in some orders by lot."""
    return hold_auction(line, bids, shuffled(bids, np.random.default_rng(0), orders))


def distance(name: str, free: list[Ints], gpus: int, orders: int) -> Figure:
    """By what factor a bidder's value falls short of the bound, in the geometric mean over bidders.

    Counted only where as many win as in the bound; the peer's column says how often that is.
    """
    ratios = []
    for seed, each in enumerate(free):
        line = Line.of(each, REACH)
        bids = bids_for(line, gpus, gpus * len(each) / EXPERIMENTS, seed, EXPERIMENTS)
        outcome = held(line, bids, orders)
        ratios.append(math.exp((log_bound(line, bids) - outcome.log_product) / len(bids)))
    alike = [ratio for ratio in ratios if ratio < 2]
    return Figure(
        f"{name}, {orders} orders: furthest of {len(ratios)} from bound",
        f"{max(alike) - 1:.3%}" if alike else "-",
        f"{len(alike)} as many win",
        max(alike, default=None),
        None,
        at_least=False,
    )


def kept(name: str, free: list[Ints], count: int, wait_s: float) -> Figure:
    """The part of the GPU-time of one lease that winners keep."""
    won_gpus, kept_gpus = 0, 0.0
    for seed, each in enumerate(free):
        line = Line.of(each, REACH)
        awards = held(line, bids_for(line, 4, 256 / count, seed, count, wait_s), 1).awards
        won_gpus += sum(award.gpus for award in awards)
        kept_gpus += sum(award.gpus * award.kept for award in awards)
    waiting = "never ends" if math.isinf(wait_s) else f"waits {wait_s:g} s"
    return Figure(f"{name}, {count} bid, who loses {waiting}: kept", f"{kept_gpus / won_gpus:.2f}")


def _slowest(name: str, taken_s: list[float], limit_s: float | None) -> Figure:
    median_ms, worst_s = 1e3 * float(np.median(taken_s)), max(taken_s)
    return Figure(
        name, f"{1e3 * worst_s:.0f} ms", f"median {median_ms:.0f} ms", worst_s, limit_s, False
    )


def main() -> None:
    """Speeds, distances, what winners keep."""
    arguments = parser(main.__doc__ or "").parse_args()
    count = 3 if arguments.quick else 10
    empty = [np.full(64, 4)] * count
    mixed = [busy(64, 4, seed) for seed in range(count)]
    held(Line.of([2]), bids_for(Line.of([2]), 2, 1.0, 0, 4), 1)
    figures = speeds("64x4 empty", empty, 4, EXPERIMENTS, AUCTION_LIMIT_S)
    figures += speeds("64x4 busy", mixed, 4, EXPERIMENTS, AUCTION_LIMIT_S)
    figures += speeds("250x8 empty, 500", [np.full(250, 8)], 8, 500, None)
    figures += speeds("1,000x8 busy, 500", [busy(1_000, 8, 0)], 8, 500, None)
    for name, free in (("64x4 empty", empty), ("64x4 busy", mixed)):
        figures += [distance(name, free, 4, orders) for orders in (1, ORDERS)]
    few = [np.array([4] * 5 + [0] * 59)] * count
    figures += [
        kept(name, free, bidders, wait_s)
        for name, free in (("64x4 empty", empty), ("64x4 busy", mixed), ("5x4 free", few))
        for bidders in (20, EXPERIMENTS)
        for wait_s in (math.inf, 600.0)
    ]
    report("auction", "Themis' auction: CPU time of one core, and distance", figures)


if __name__ == "__main__":
    main()
