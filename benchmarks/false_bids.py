"""How many random false bids pay in Themis' auction.

    python benchmarks/false_bids.py [--quick]

The bidder's utility is c x (value of what it wins) + (1 - c) x (value of nothing), by its true bid.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from auction import REACH, SKEWS, busy, experiment, slowdown_of
from motet.allocation.auction.bids import Bid, BiddingExperiment, bid_of
from motet.allocation.auction.line import Line
from motet.allocation.auction.rounds import AuctionOutcome, hold_auction
from support.figures import Figure, parser, report

MACHINES, MACHINE_GPUS, BIDDERS, LIES = 16, 4, 8, 10
LARGEST_FACTOR = 10.0
ROUNDING = 1 + 1e-9


def utility(outcome: AuctionOutcome, line: Line, truth: Bid) -> float:
    """Of the first bidder, whose true bid is `truth`."""
    award = next((award for award in outcome.awards if award.bidder == 0), None)
    if award is None:
        return truth.nothing
    value = truth.nothing
    if award.gpus <= truth.most:
        value = max(float(truth.values[line.kind[award.start], award.gpus]), value)
    return award.kept * value + (1 - award.kept) * truth.nothing


def gains(seed: int, wait_s: float) -> list[float]:
    """Factors by which false bids of one bidder change its utility in one auction."""
    rng = np.random.default_rng(seed)
    line = Line.of(busy(MACHINES, MACHINE_GPUS, seed), REACH)
    share = MACHINES * MACHINE_GPUS / BIDDERS
    table = line.slowdowns(slowdown_of(SKEWS[0], MACHINE_GPUS), REACH)

    def bid(each: BiddingExperiment) -> Bid:
        waiting_rho = each.rho(min(share, each.most), wait_s)
        return bid_of(each, line, table, waiting_rho=waiting_rho)

    honest, *others = [experiment(rng, share) for _ in range(BIDDERS)]
    truth, other_bids = bid(honest), [bid(each) for each in others]
    base = utility(hold_auction(line, [truth, *other_bids]), line, truth)
    found = []
    for _ in range(LIES):
        work, elapsed, ideal = LARGEST_FACTOR ** rng.uniform(-1, 1, 3)
        jobs = [replace(job, service_gpu_s=job.service_gpu_s * work) for job in honest.jobs]
        elapsed_s, ideal_s = honest.elapsed_s * elapsed, honest.ideal_s * ideal
        lie = bid(BiddingExperiment(tuple(jobs), elapsed_s, ideal_s))
        after = utility(hold_auction(line, [lie, *other_bids]), line, truth)
        found.append(after / base if base else float(after == 0) or math.inf)
    return found


def figure(name: str, auctions: int, wait_s: float) -> Figure:
    """The share of false bids with a gain, and the median gain."""
    factors = np.array([factor for seed in range(auctions) for factor in gains(seed, wait_s)])
    paid = factors[factors > ROUNDING]
    median = f"median gain {np.median(paid) - 1:.1%}" if len(paid) else "no gain"
    return Figure(name, f"{len(paid)} of {len(factors)} pay", median)


def main() -> None:
    """False bids with and without a value of waiting."""
    arguments = parser(main.__doc__ or "").parse_args()
    auctions = 5 if arguments.quick else 40
    figures = [
        figure("losing is worth nothing (waiting=nothing)", auctions, math.inf),
        figure("losing is worth a share 600 s later (waiting=share)", auctions, 600.0),
    ]
    report("false_bids", "False bids in Themis' auction", figures)


if __name__ == "__main__":
    main()
