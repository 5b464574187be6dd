"""The best allocation of stretches, against all there are."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auction_oracles import (
    Score,
    Worth,
    best_anywhere,
    best_row,
    bid_from,
    by_count,
    counted,
    score_of,
    tables,
    values_in,
)
from auction_programs import plain_best_in
from example_count import examples
from motet.allocation.auction.bids import Bid
from motet.allocation.auction.line import Line, Parts
from motet.allocation.auction.optimum import LogValues, best_in, log_bound
from motet.allocation.auction.rounds import AuctionOutcome, hold_auction

free = st.lists(st.integers(0, 3), min_size=1, max_size=3)


def approximately(score: Score) -> Score:
    return score[0], pytest.approx(score[1], abs=1e-9)


def score_in(outcome: AuctionOutcome, line: Line, bids: list[Bid]) -> Score:
    return score_of(values_in(outcome, line, bids))


@settings(max_examples=examples(60))
@given(free=free, data=st.data())
def test_no_row_of_stretches_is_better(free: list[int], data: st.DataObject) -> None:
    line = Line.of(free)
    bids = [data.draw(tables(line)) for _ in range(data.draw(st.integers(1, 3)))]
    order = tuple(data.draw(st.permutations(range(len(bids)))))
    outcome = hold_auction(line, bids, [order])
    assert score_in(outcome, line, bids) == approximately(best_row(line, bids, order))


@settings(max_examples=examples(60))
@given(free=free, data=st.data())
def test_hidden_payments_are_what_others_lose(free: list[int], data: st.DataObject) -> None:
    line = Line.of(free)
    bids = [data.draw(tables(line)) for _ in range(3)]
    outcome = hold_auction(line, bids, [(0, 1, 2)])
    values = values_in(outcome, line, bids)
    for award in outcome.awards:
        others = [value for row, value in enumerate(values) if row != award.bidder]
        order = [row for row in range(3) if row != award.bidder]
        winners, log_product = score_of(others)
        winners_without, log_without = best_row(line, bids, order)
        lost = math.exp(log_product - log_without) if winners == winners_without else 0.0
        assert award.kept == pytest.approx(lost, abs=1e-9)


@settings(max_examples=examples(60))
@given(free=free, values=st.lists(by_count(), min_size=1, max_size=3), data=st.data())
def test_it_is_the_best_of_all_allocations_where_only_counts_matter(
    free: list[int], values: list[list[float]], data: st.DataObject
) -> None:
    line = Line.of(free)
    worths = [counted(each) for each in values]
    bids = [bid_from(worth, line, len(v) - 1) for worth, v in zip(worths, values, strict=True)]
    order = tuple(data.draw(st.permutations(range(len(bids)))))
    outcome = hold_auction(line, bids, [order])
    assert score_in(outcome, line, bids) == approximately(best_anywhere(free, worths))
    assert outcome.log_product == pytest.approx(log_bound(line, bids))


@st.composite
def spread_matters(draw: st.DrawFn) -> list[list[float]]:
    """By number of machines, values by count: no better on more machines."""
    together = draw(by_count(5))
    factor = draw(st.floats(0.1, 1))
    return [together, [max(together[0], value * factor) for value in together]]


def on_machines(values: list[list[float]]) -> Worth:
    return lambda parts: values[min(max(len(parts), 1), len(values)) - 1][
        min(sum(parts), len(values[0]) - 1)
    ]


@settings(max_examples=examples(60))
@given(
    free=st.lists(st.integers(1, 4), min_size=2, max_size=2),
    bidders=st.lists(spread_matters(), min_size=1, max_size=3),
)
def test_it_is_the_best_of_all_allocations_of_two_machines_if_all_orders_are_tried(
    free: list[int], bidders: list[list[list[float]]]
) -> None:
    line = Line.of(free)
    worths = [on_machines(values) for values in bidders]
    bids = [bid_from(worth, line, len(v[0]) - 1) for worth, v in zip(worths, bidders, strict=True)]
    orders = list(itertools.permutations(range(len(bids))))
    outcome = hold_auction(line, bids, orders)
    assert score_in(outcome, line, bids) == approximately(best_anywhere(free, worths))


@given(
    machines=st.integers(1, 6),
    gangs=st.lists(
        st.tuples(st.sampled_from([1, 2, 4, 8]), st.floats(0.1, 10), st.floats(0.01, 0.09)),
        min_size=1,
        max_size=12,
    ),
)
def test_it_is_the_best_of_all_allocations_for_gangs_that_divide_each_other(
    machines: int, gangs: list[tuple[int, float, float]]
) -> None:
    line = Line.of([4] * machines)

    def gang(gpus: int, value: float, nothing: float) -> Bid:
        def worth(parts: Parts) -> float:
            slowdown = 1 + len(parts) - math.ceil(gpus / 4)
            return max(value / slowdown, nothing) if sum(parts) == gpus else nothing

        return bid_from(worth, line, gpus, granularity=gpus)

    bids = [gang(*each) for each in gangs]
    outcome = hold_auction(line, bids)
    assert outcome.log_product == pytest.approx(log_bound(line, bids))


def test_remains_of_three_machines_cannot_be_won_together() -> None:
    """The counterexample: exact for stretches is not always exact for all allocations."""
    free = [3, 3, 3]
    line = Line.of(free)
    pair = lambda parts: 1.0 if parts == (2,) else 0.1  # noqa: E731
    anywhere = lambda parts: 1.0 if sum(parts) == 3 else 0.5 if sum(parts) == 2 else 0.1  # noqa: E731
    worths = [pair, pair, pair, anywhere]
    bids = [bid_from(pair, line, 2, 2)] * 3 + [bid_from(anywhere, line, 3)]
    outcome = hold_auction(line, bids, list(itertools.permutations(range(4))))
    assert math.exp(outcome.log_product) == pytest.approx(0.5)
    assert best_anywhere(free, worths) == (4, pytest.approx(0.0))
    assert log_bound(line, bids) == pytest.approx(0.0)


@settings(max_examples=examples(300))
@given(free=st.lists(st.integers(0, 4), min_size=1, max_size=4), data=st.data())
def test_what_is_left_out_changes_no_stretch_and_no_payment(
    free: list[int], data: st.DataObject
) -> None:
    """To the last bit: of equally good allocations the same one is taken."""
    line = Line.of(free)
    bids = [data.draw(tables(line)) for _ in range(data.draw(st.integers(1, 5)))]
    order = tuple(data.draw(st.permutations(range(len(bids)))))
    found, wanted = best_in(order, line, LogValues.of(bids)), plain_best_in(order, line, bids)
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, expected)
