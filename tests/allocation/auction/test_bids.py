"""What agents bid, and how they divide what they win."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auction_oracles import works_by_width
from example_count import examples
from motet.allocation.auction.bids import Bid, BiddingExperiment, bid_of, bids_of
from motet.allocation.auction.division import (
    JobSpeeds,
    Slowdowns,
    Stretches,
    pieces,
    speed_tables,
)
from motet.allocation.auction.line import Line, Parts
from motet.domain.errors import BadInput
from motet.estimate.finish_time import JobWork

jobs = st.lists(
    st.builds(
        lambda least, more: JobWork(100, least, least + more), st.integers(1, 3), st.integers(0, 3)
    )
    | works_by_width(),
    min_size=1,
    max_size=3,
)


def by_machines(parts: Parts) -> float:
    return 1.0 + 0.75 * (len(parts) - 1)


def every_way(works: list[JobWork], start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """Every way to give the jobs pieces in their order."""
    if not works:
        yield []
        return
    for rest in every_way(works[1:], start, end):
        yield [(start, 0), *rest]
    for begin in range(start, end):
        for gpus in range(works[0].least, min(works[0].most, end - begin) + 1):
            for rest in every_way(works[1:], begin + gpus, end) if works[0].speed(gpus) else ():
                yield [(begin, gpus), *rest]


def speed_of(works: list[JobWork], line: Line, taken: list[tuple[int, int]]) -> float:
    return sum(
        job.speed(gpus) / by_machines(line.parts(at, gpus))
        for job, (at, gpus) in zip(works, taken, strict=True)
        if gpus
    )


@settings(max_examples=examples(40))
@given(jobs, st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_a_stretch_is_divided_as_well_as_can_be(
    works: list[JobWork], free: list[int], data: st.DataObject
) -> None:
    line = Line.of(free)
    slowdowns = line.slowdowns(by_machines, line.size)
    start = data.draw(st.integers(0, line.size - 1))
    gpus = data.draw(st.integers(1, line.size - start))
    best = max(speed_of(works, line, way) for way in every_way(works, start, start + gpus))

    jobs, tables = JobSpeeds.of([works], line.size), Slowdowns.of_each([slowdowns])
    flat, _ = speed_tables(jobs, line, tables, np.array([line.size]))
    assert flat.reshape(line.kinds, -1)[line.kind[start], gpus] == pytest.approx(best)
    won = Stretches(np.array([0]), np.array([start]), np.array([gpus]))
    (taken,) = pieces(jobs, line, tables, won)
    assert speed_of(works, line, taken) == pytest.approx(best)
    held = [piece for piece in taken if piece[1]]
    assert all(at + count <= after for (at, count), (after, _) in itertools.pairwise(held))
    for job, (_, count) in zip(works, taken, strict=True):
        assert count == 0 or job.speed(count) > 0


def test_a_bid_is_the_inverse_of_the_new_rho() -> None:
    line = Line.of([2, 2])
    experiment = BiddingExperiment((JobWork.elastic(1200, 3),), elapsed_s=100, ideal_s=400)
    bid = bid_of(experiment, line, line.slowdowns(by_machines, 4))
    together = 400 / (100 + 1200 / 2)
    # A third GPU on another machine would slow it down, so it would stay idle.
    np.testing.assert_allclose(bid.values[0], [0, 400 / 1300, together, together])
    # From the second GPU on, two lie on two machines.
    np.testing.assert_allclose(bid.values[1][:3], [0, 400 / 1300, 400 / (100 + 1200 / (2 / 1.75))])
    assert (bid.most, bid.granularity, bid.nothing) == (3, 1, 0)


def test_an_elastic_job_bids_by_what_it_would_gain() -> None:
    """It runs on one, two or four GPUs, on four hardly faster than on two."""
    line = Line.of([4])
    job = JobWork(1200, 1, 4, (1.0, 1.8, 0.0, 2.0))
    bid = bid_of(BiddingExperiment((job,), 0, 300), line, line.slowdowns(by_machines, 4))
    np.testing.assert_allclose(bid.values[0], [0, 0.25, 0.45, 0.45, 0.5])


experiments = st.builds(
    lambda works, elapsed_s, held_gpu_s: BiddingExperiment(
        tuple(works), elapsed_s, 100, held_speed=1.0, held_gpu_s=held_gpu_s
    ),
    jobs,
    st.floats(0, 1000),
    st.sampled_from([0.0, 7.0, 1000.0]),
)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(experiments, st.booleans()), min_size=1, max_size=4), st.data())
def test_bids_and_pieces_of_many_are_those_of_each(
    bidders: list[tuple[BiddingExperiment, bool]], data: st.DataObject
) -> None:
    """To the last bit, and a value is 1 / rho with the speed of the stretch."""
    line = Line.of(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    near, far = (line.slowdowns(table, line.size) for table in (by_machines, lambda _: 1.5))
    tables, all_of = [near if is_near else far for _, is_near in bidders], [b for b, _ in bidders]
    works, slowdowns = [each.waiting for each in all_of], Slowdowns.of_each(tables)
    jobs = JobSpeeds.of(works, line.reach)
    bids = bids_of(all_of, jobs, line, slowdowns, [math.inf] * len(all_of))
    for number, (experiment, bid) in enumerate(zip(all_of, bids, strict=True)):
        alone = bid_of(experiment, line, tables[number])
        np.testing.assert_array_equal(bid.values, alone.values)
        own, table = JobSpeeds.of([experiment.waiting], line.reach), [tables[number]]
        flat, _ = speed_tables(own, line, Slowdowns.of_each(table), np.array([bid.most]))
        expected = [1 / experiment.rho(speed) for speed in flat]
        np.testing.assert_allclose(bid.values.ravel(), expected)
    start = data.draw(st.integers(0, line.size - 1))
    gpus = data.draw(st.integers(1, line.size - start))
    ones = np.ones(len(bidders), dtype=np.int64)
    won = Stretches(np.arange(len(bidders)), ones * start, ones * gpus)
    of_each = [
        pieces(
            JobSpeeds.of([work], line.reach),
            line,
            Slowdowns.of_each([table]),
            Stretches(np.array([0]), np.array([start]), np.array([gpus])),
        )[0]
        for work, table in zip(works, tables, strict=True)
    ]
    assert pieces(jobs, line, slowdowns, won) == of_each


def test_a_gang_bids_for_all_of_its_gpus_only() -> None:
    line = Line.of([4])
    bid = bid_of(
        BiddingExperiment((JobWork.gang(60, 3),), 0, 20), line, line.slowdowns(by_machines, 4)
    )
    assert bid.values.tolist() == [[0, 0, 0, 1], *[[0, 0, 0, 0]] * 3][: line.kinds]
    assert bid.granularity == 3


def test_jobs_that_run_anyway_count_for_the_value_of_nothing() -> None:
    line = Line.of([1])
    experiment = BiddingExperiment((JobWork.gang(100, 1),), 0, 100, held_speed=1, held_gpu_s=300)
    bid = bid_of(experiment, line, line.slowdowns(by_machines, 1))
    assert bid.values.tolist() == [[100 / 400, 100 / 200]]


def test_a_waiting_value_refuses_worse_stretches() -> None:
    line = Line.of([3])
    experiment = BiddingExperiment((JobWork.elastic(1200, 3),), elapsed_s=0, ideal_s=400)
    waiting_rho = experiment.rho(3, wait_s=200)
    bid = bid_of(experiment, line, line.slowdowns(by_machines, 3), waiting_rho)
    np.testing.assert_allclose(bid.values[0], [2 / 3, 2 / 3, 2 / 3, 1])


def test_jobs_that_have_ended_want_nothing() -> None:
    line = Line.of([4])
    experiment = BiddingExperiment((JobWork.gang(0, 4), JobWork.gang(50, 1)), 0, 50)
    assert experiment.most == 1
    assert bid_of(experiment, line, line.slowdowns(by_machines, 4)).most == 1


@settings(max_examples=examples(40))
@given(jobs, st.lists(st.integers(1, 3), min_size=2, max_size=4), st.integers(1, 6))
def test_within_reach_bids_are_the_same(works: list[JobWork], free: list[int], reach: int) -> None:
    near, far = Line.of(free, reach), Line.of(free)
    experiment = BiddingExperiment(tuple(works), 0, 100)
    tables = [
        bid_of(experiment, line, line.slowdowns(by_machines, 12)).values for line in (near, far)
    ]
    for start in range(far.size):
        longest = min(tables[0].shape[1] - 1, far.size - start)
        got = tables[0][near.kind[start], : longest + 1]
        np.testing.assert_array_equal(got, tables[1][far.kind[start], : longest + 1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "give \\(kinds, most \\+ 1\\)"),
        ([[0.0, -1.0]], "negative or not finite"),
        ([[0.0, np.inf]], "negative or not finite"),
        ([[0.0, 1.0], [0.5, 1.0]], "depends on the kind of start"),
    ],
)
def test_an_invalid_bid_is_refused(values: list[list[float]], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Bid(np.array(values))


def test_slowdowns_must_reach_as_far_as_an_experiment_can_use() -> None:
    line = Line.of([4])
    with pytest.raises(BadInput, match="slowdowns of up to 2 GPUs: 4 are required"):
        bid_of(BiddingExperiment((JobWork.gang(1, 4),), 0, 1), line, line.slowdowns(by_machines, 2))
