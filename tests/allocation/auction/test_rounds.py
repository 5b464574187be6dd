"""One round of the auction: worked examples, and what it promises."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auction_oracles import (
    bid_from,
    by_count,
    counted,
    every_allocation,
    every_row_of_stretches,
    tables,
    utility,
    values_in,
    won,
    works_by_width,
)
from example_count import examples
from motet.allocation.auction.bids import Bid, BiddingExperiment, bid_of
from motet.allocation.auction.leftovers import Taker, hand_out
from motet.allocation.auction.line import Line
from motet.allocation.auction.optimum import log_bound
from motet.allocation.auction.rounds import by_granularity, hold_auction, shuffled
from motet.domain.errors import BadInput
from motet.estimate.finish_time import JobWork

frees = st.lists(st.integers(0, 3), min_size=1, max_size=3)
CLOSE = 1 + 1e-9


def linear(line: Line, most: int, per_gpu: float = 1.0) -> Bid:
    """An elastic experiment that was just submitted, where placement does not matter."""
    return bid_from(lambda parts: per_gpu * sum(parts), line, most)


def test_two_alike_share_and_keep_half_of_the_time() -> None:
    line = Line.of([4])
    outcome = hold_auction(line, [linear(line, 4), linear(line, 4)])
    assert [(award.gpus, award.value) for award in outcome.awards] == [(2, 2), (2, 2)]
    # The other one would have had 4 instead of 2.
    assert [award.kept for award in outcome.awards] == pytest.approx([1 / 2, 1 / 2])
    assert math.exp(outcome.log_product) == pytest.approx(4)


def test_a_winner_without_externality_keeps_its_whole_award() -> None:
    line = Line.of([4, 4])
    outcome = hold_auction(line, [linear(line, 3), linear(line, 4)])
    assert [award.kept for award in outcome.awards] == [1, 1]
    assert outcome.free_gpus.sum() == 1


def test_a_winner_that_blocks_all_others_keeps_nothing() -> None:
    line = Line.of([1])
    (award,) = hold_auction(line, [linear(line, 1), linear(line, 1, 2.0)]).awards
    assert (award.gpus, award.kept) == (1, 0)


def test_a_placement_sensitive_gang_gets_a_whole_machine() -> None:
    line = Line.of([2, 2])
    gang = bid_from(lambda parts: {(2,): 1.0, (1, 1): 0.25}.get(parts, 0.1), line, 2, 2)
    outcome = hold_auction(line, [linear(line, 1), gang, linear(line, 1)])
    assert won(outcome, 1).placement.counts == (2,)  # type: ignore[union-attr]
    assert len(outcome.awards) == 3


@settings(max_examples=examples(60))
@given(free=frees, data=st.data())
def test_awards_are_disjoint_and_free(free: list[int], data: st.DataObject) -> None:
    line = Line.of(free)
    bids = [data.draw(tables(line)) for _ in range(data.draw(st.integers(0, 4)))]
    outcome = hold_auction(line, bids)
    used = outcome.free_gpus.copy()
    for award in outcome.awards:
        used[list(award.placement.machines)] += award.placement.counts
        assert sum(award.placement.counts) == award.gpus
        assert 0 <= award.kept <= 1
        assert award.value > bids[award.bidder].nothing
    assert used.tolist() == free
    assert outcome.log_product <= log_bound(line, bids) + 1e-9


@settings(max_examples=examples(60))
@given(free=frees, data=st.data())
def test_the_allocation_is_pareto_efficient(free: list[int], data: st.DataObject) -> None:
    line = Line.of(free)
    bids = [data.draw(tables(line)) for _ in range(3)]
    have = np.array(values_in(hold_auction(line, bids, [(0, 1, 2)]), line, bids))
    for row in every_row_of_stretches(line, bids, (0, 1, 2)):
        others = np.array([row[bidder] for bidder in range(3)])
        assert not ((others >= have * CLOSE).all() and (others > have * CLOSE).any())


@settings(max_examples=examples(30))
@given(free=frees, values=st.lists(by_count(4), min_size=2, max_size=3))
def test_nor_in_any_other_place_where_only_counts_matter(
    free: list[int], values: list[list[float]]
) -> None:
    line = Line.of(free)
    worths = [counted(each) for each in values]
    bids = [bid_from(worth, line, len(v) - 1) for worth, v in zip(worths, values, strict=True)]
    have = np.array(values_in(hold_auction(line, bids), line, bids))
    for way in set(every_allocation(free, len(bids))):
        others = np.array([worth(parts) for worth, parts in zip(worths, way, strict=True)])
        assert not ((others >= have).all() and (others > have * CLOSE).any())


@settings(max_examples=examples(150))
@given(free=frees, data=st.data())
def test_no_lie_helps_beyond_what_nothing_is_worth(free: list[int], data: st.DataObject) -> None:
    """Any table against any lie; exact where winning nothing is worth nothing."""
    line = Line.of(free)
    truth, lie, *others = [data.draw(tables(line)) for _ in range(4)]
    orders = [(0, 1, 2), (2, 1, 0)]
    honest = hold_auction(line, [truth, *others], orders)
    lying = hold_auction(line, [lie, *others], orders)
    paid = [award.kept if award else 1.0 for award in (won(honest, 0), won(lying, 0))]
    gain = utility(lying, 0, line, truth) - utility(honest, 0, line, truth)
    assert gain <= truth.nothing * max(paid[0] - paid[1], 0.0) + 1e-9


@settings(max_examples=examples(100))
@given(
    free=frees,
    values=st.lists(by_count(6, is_zero_at_nothing=True), min_size=2, max_size=4),
    factor=st.floats(0.01, 100),
)
def test_no_scaling_of_a_bid_changes_anything(
    free: list[int], values: list[list[float]], factor: float
) -> None:
    line = Line.of(free)
    bids = [bid_from(counted(each), line, len(each) - 1) for each in values]
    scaled = [Bid(bids[0].values * factor), *bids[1:]]
    utilities = [utility(hold_auction(line, each), 0, line, bids[0]) for each in (bids, scaled)]
    assert utilities[0] == pytest.approx(utilities[1])


works = st.builds(JobWork.elastic, st.floats(100, 1e5), st.integers(1, 8)) | st.builds(
    JobWork.gang, st.floats(100, 1e5), st.sampled_from([1, 2, 4, 8])
)
works |= works_by_width(8, 1000.0)
experiments = st.builds(
    lambda jobs, elapsed_s, ideal_s: BiddingExperiment(tuple(jobs), elapsed_s, ideal_s),
    st.lists(works, min_size=1, max_size=3),
    st.floats(0, 1e5),
    st.floats(100, 1e5),
)


@settings(max_examples=examples(60))
@given(
    bidders=st.lists(experiments, min_size=2, max_size=6),
    lie=st.tuples(st.floats(0.01, 100), st.floats(0.01, 100), st.floats(0.01, 100)),
)
def test_no_lie_about_work_time_or_share_ever_helps(
    bidders: list[BiddingExperiment], lie: tuple[float, float, float]
) -> None:
    line = Line.of([4, 4, 3, 1])
    slowdowns = line.slowdowns(lambda parts: 1 + 0.4 * (len(parts) - 1), 24)
    honest = bidders[0]
    liar = BiddingExperiment(
        tuple(replace(job, service_gpu_s=job.service_gpu_s * lie[0]) for job in honest.jobs),
        honest.elapsed_s * lie[1],
        honest.ideal_s * lie[2],
    )
    truth, lied, *others = [bid_of(each, line, slowdowns) for each in (honest, liar, *bidders[1:])]
    utilities = [
        utility(hold_auction(line, [bid, *others]), 0, line, truth) for bid in (truth, lied)
    ]
    assert utilities[1] <= utilities[0] * CLOSE


@settings(max_examples=examples(60))
@given(
    gpus=st.integers(1, 12),
    bidders=st.integers(1, 5),
    gains=st.lists(st.floats(0.1, 2.0), min_size=1, max_size=12),
    elapsed_s=st.floats(0, 1e4),
)
def test_equal_concave_elastic_jobs_get_equal_shares_up_to_one_gpu(
    gpus: int, bidders: int, gains: list[float], elapsed_s: float
) -> None:
    speeds = tuple(itertools.accumulate(sorted(gains, reverse=True)))
    job = JobWork(1000, 1, len(speeds), speeds)
    line = Line.of([gpus])
    slowdowns = line.slowdowns(lambda _: 1.0, 12)
    bid = bid_of(BiddingExperiment((job,), elapsed_s, 100), line, slowdowns)
    outcome = hold_auction(line, [bid] * bidders)
    have = [award.gpus if (award := won(outcome, row)) else 0 for row in range(bidders)]
    assert min(have) >= min(gpus // bidders, len(speeds))


def test_a_lie_helps_where_nothing_is_worth_something() -> None:
    """The counterexample: why the tolerance is the value of nothing, and not 0."""
    line = Line.of([2])
    truth = Bid(np.array([[1.0, 1.2, 2.0]]))
    other = Bid(np.array([[1.0, 1.5, 2.2]]))
    lie = Bid(np.array([[1.0, 1.2, 9.0]]))
    gain = utility(hold_auction(line, [lie, other]), 0, line, truth) - utility(
        hold_auction(line, [truth, other]), 0, line, truth
    )
    assert 0 < gain <= truth.nothing


caps = st.lists(st.tuples(st.integers(1, 8), st.floats(0.1, 10)), min_size=1, max_size=4)


@given(gpus=st.integers(1, 8), bidders=caps)
def test_before_payments_all_have_their_share_but_for_one_gpu_where_values_are_linear(
    gpus: int, bidders: list[tuple[int, float]]
) -> None:
    line = Line.of([gpus])
    outcome = hold_auction(line, [linear(line, most, per_gpu) for most, per_gpu in bidders])
    for row, (most, _) in enumerate(bidders):
        award = won(outcome, row)
        assert (award.gpus if award else 0) >= min(most, gpus // len(bidders))


@pytest.mark.parametrize("bidders", [1, 2, 3, 4, 6])
def test_of_an_even_share_at_least_one_in_e_is_kept(bidders: int) -> None:
    line = Line.of([4, 4, 4])
    outcome = hold_auction(line, [linear(line, 12)] * bidders)
    assert all(1 / math.e <= award.kept <= 1 for award in outcome.awards)


def test_a_late_experiment_gets_less_than_its_share() -> None:
    """The counterexample for values that are not linear: 1 / rho saturates with the time waited.

    It is why the worst rho bid alone (`participants`).
    """
    line = Line.of([8])
    new = bid_from(lambda parts: 800 / (0 + 800 / n) if (n := sum(parts)) else 0.0, line, 8)
    old = bid_from(lambda parts: 800 / (900 + 800 / n) if (n := sum(parts)) else 0.0, line, 8)
    outcome = hold_auction(line, [new, old])
    assert [award.gpus for award in outcome.awards] == [6, 2]


@given(gpus=st.integers(1, 8), bidders=caps)
def test_linear_values_are_envy_free_up_to_one_gpu_before_payments(
    gpus: int, bidders: list[tuple[int, float]]
) -> None:
    line = Line.of([gpus])
    outcome = hold_auction(line, [linear(line, most, per_gpu) for most, per_gpu in bidders])
    have = [award.gpus if (award := won(outcome, row)) else 0 for row in range(len(bidders))]
    for row, (most, _) in enumerate(bidders):
        assert min(most, max(have) - 1) <= have[row]


@given(gpus=st.integers(1, 12), values=st.lists(st.floats(0.1, 10), min_size=1, max_size=4))
def test_unlimited_linear_values_are_envy_free_after_payments(
    gpus: int, values: list[float]
) -> None:
    line = Line.of([gpus])
    outcome = hold_auction(line, [linear(line, gpus, per_gpu) for per_gpu in values])
    gpus_kept = [award.kept * award.gpus for award in outcome.awards]
    assert gpus_kept == pytest.approx([gpus_kept[0]] * len(gpus_kept))
    assert len(outcome.awards) == len(values) or gpus_kept[0] == 0


def test_limited_bidders_can_envy_after_payments() -> None:
    """The counterexample: both have one GPU, but only one takes a GPU that the other could use."""
    line = Line.of([2])
    modest, greedy = hold_auction(line, [linear(line, 1), linear(line, 2)]).awards
    assert (modest.gpus, modest.kept) == (1, pytest.approx(1 / 2))
    assert (greedy.gpus, greedy.kept) == (1, 1)


@settings(max_examples=examples(40))
@given(free=frees, data=st.data())
def test_all_unsold_gpus_go_to_a_taker(free: list[int], data: st.DataObject) -> None:
    line = Line.of(free)
    bids = [data.draw(tables(line)) for _ in range(3)]
    outcome = hold_auction(line, bids)
    got = hand_out(outcome.free_gpus, [Taker(1, sum(free) + 1)], lambda: np.random.default_rng(0))
    assert sum(got[0].counts) == outcome.free_gpus.sum()


def test_equal_bids_keep_their_order() -> None:
    bids = [Bid(np.array([[0.0, 1.0]]), granularity) for granularity in (1, 4, 2, 4)]
    assert by_granularity(bids) == (1, 3, 2, 0)


def test_orders_by_lot_follow_the_seed_and_begin_with_the_one_by_granularity() -> None:
    bids = [Bid(np.array([[0.0, 1.0]]))] * 5
    first, second = (shuffled(bids, np.random.default_rng(1), 3) for _ in range(2))
    assert first == second
    assert len(first) == 3
    assert first[0] == (0, 1, 2, 3, 4)


def test_more_orders_are_never_worse() -> None:
    line = Line.of([3, 3])
    gang = bid_from(lambda parts: 1.0 if parts == (2,) else 0.1, line, 2, 2)
    two = bid_from(lambda parts: 0.9 if sum(parts) == 2 else 0.1, line, 2)
    bids = [gang, gang, two]
    one, many = hold_auction(line, bids), hold_auction(line, bids, [(0, 1, 2), (0, 2, 1)])
    assert math.exp(one.log_product) == pytest.approx(0.1)
    assert many.log_product == pytest.approx(log_bound(line, bids))


@pytest.mark.parametrize(
    ("bids", "orders", "message"),
    [
        ([Bid(np.array([[0.0], [0.0]]))], [], "this one has 1 kinds of starts"),
        ([Bid(np.array([[0.0, 1.0]]))], [(0, 0)], "must name each of the 1 bidders once"),
    ],
)
def test_bids_and_orders_must_fit_the_line(
    bids: list[Bid], orders: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        hold_auction(Line.of([2]), bids, orders)
