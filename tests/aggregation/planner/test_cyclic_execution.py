"""The worked examples of the seed: figure 4.6 and the job that would lose 17 % of its speed."""

from __future__ import annotations

import numpy as np
import pytest

from motet.aggregation.planner.cyclic_execution import (
    NO_OWN_LIMIT,
    Loads,
    cycles,
    kept_cycles,
    loss,
)

J1, J2 = (6, 2), (12, 3)
"""Iteration and aggregation in units of time."""
NONE_KEPT = np.zeros(1, np.int64)


def loads(*jobs: tuple[int, int]) -> Loads:
    """All on one Aggregator."""
    iterations, work = np.array(jobs).T
    return Loads(np.zeros(len(jobs), np.int64), iterations, work)


@pytest.mark.parametrize(
    ("jobs", "cycle", "free"),
    [([J1], 6, 4), ([J2], 12, 9), ([J1, J2], 12, 12 - 2 * 2 - 3)],
    ids=["J1", "J2", "both"],
)
def test_the_cycle_is_the_longest_iteration_and_shorter_ones_run_several_times(
    jobs: list[tuple[int, int]], cycle: int, free: int
) -> None:
    state = cycles(loads(*jobs), NONE_KEPT, 0.1)
    assert (state.cycle_ns.tolist(), state.free_ns.tolist()) == ([cycle], [free])
    assert state.is_within.all()


def test_links_have_as_many_runs_in_a_cycle_as_cpus() -> None:
    state = cycles(loads(J1, J2)._replace(link_ns=np.array([4, 1])), NONE_KEPT, 0.1)
    assert (state.free_ns.tolist(), state.free_link_ns.tolist()) == ([5], [12 - 2 * 4 - 1])
    assert state.least_free_ns.tolist() == [3]
    assert cycles(loads(J1, J2), NONE_KEPT, 0.1).free_link_ns.tolist() == [12]


def test_an_iteration_of_5_takes_6_in_a_cycle_of_12() -> None:
    assert loss(12, 5) == pytest.approx((6 - 5) / 6)
    present = loads((5, 1))
    assert not cycles(present, NONE_KEPT, 0.1, arriving_ns=12).is_within[0]
    assert cycles(present, NONE_KEPT, 0.17, arriving_ns=12).is_within[0]


def test_the_arriving_job_may_lose_as_little_as_those_that_are_there() -> None:
    assert not cycles(loads((12, 1)), NONE_KEPT, 0.1, arriving_ns=5).is_within[0]


def test_a_loss_of_exactly_the_limit_is_too_much() -> None:
    present = loads((9, 1))
    assert loss(10, 9) == pytest.approx(0.1)
    assert not cycles(present, NONE_KEPT, 0.1, arriving_ns=10).is_within[0]
    assert cycles(present, NONE_KEPT, 0.11, arriving_ns=10).is_within[0]


def with_limits(rows: Loads, *limits: float) -> Loads:
    return rows._replace(own_limit=np.array(limits))


def test_a_job_s_own_limit_replaces_that_of_the_pool() -> None:
    present = loads((9, 1), (10, 1))
    assert not cycles(present, NONE_KEPT, 0.1).is_within[0]
    assert cycles(with_limits(present, 0.2, NO_OWN_LIMIT), NONE_KEPT, 0.1).is_within[0]
    assert not cycles(with_limits(present, 0.05, NO_OWN_LIMIT), NONE_KEPT, 0.2).is_within[0]


@pytest.mark.parametrize(("own_limit", "is_within"), [(None, True), (0.05, False), (0.2, True)])
def test_the_arriving_job_has_its_own_limit(own_limit: float | None, is_within: bool) -> None:
    state = cycles(loads((10, 1)), NONE_KEPT, 0.11, 9, own_limit)
    assert state.is_within[0] == is_within


@pytest.mark.parametrize(("own_limit", "kept"), [(0.3, 6), (0.4, 0)])
def test_a_cycle_is_kept_for_a_job_that_would_lose_its_own_limit(
    own_limit: float, kept: int
) -> None:
    """Iterations of 2 lose a third in a cycle of 3."""
    left = Loads(np.array([0, 0]), np.array([2, 3]), np.array([1, 1]))
    least = kept_cycles(with_limits(left, own_limit, NO_OWN_LIMIT), np.array([6]))
    assert least.tolist() == [kept]


@pytest.mark.parametrize(("work", "kept"), [(45, 0), (55, 109)])
def test_a_cycle_is_kept_if_a_shorter_one_is_too_short_for_the_work(work: int, kept: int) -> None:
    """Two iterations of 100 leave no time in a cycle of 100 for 55 and 54, but in one of 109."""
    left = Loads(np.array([0, 0]), np.array([100, 100]), np.array([work, 54]))
    assert cycles(left, np.array([109]), 0.1).free_ns[0] >= 0
    assert kept_cycles(left, np.array([109])).tolist() == [kept]


@pytest.mark.parametrize(("link", "kept"), [(45, 0), (55, 109)])
def test_a_cycle_is_kept_if_a_shorter_one_is_too_short_for_the_link(link: int, kept: int) -> None:
    left = Loads(np.array([0, 0]), np.array([100, 100]), np.array([1, 1]))
    left = left._replace(link_ns=np.array([link, 54]))
    assert cycles(left, np.array([109]), 0.1).free_link_ns[0] >= 0
    assert kept_cycles(left, np.array([109])).tolist() == [kept]


def test_an_aggregator_without_tensors_has_the_arriving_job_s_cycle() -> None:
    state = cycles(loads(J1), np.zeros(2, np.int64), 0.1, arriving_ns=5)
    assert state.cycle_ns.tolist() == [6, 5]
    assert state.free_ns.tolist() == [4, 5]


@pytest.mark.parametrize(("left", "kept"), [([2, 3], 6), ([3], 0), ([], 0)])
def test_a_cycle_is_kept_if_a_shorter_one_would_slow_a_job_down(left: list[int], kept: int) -> None:
    """After a job with iterations of 6 has left."""
    rows = Loads(*np.array([[0, iteration, 1] for iteration in left], np.int64).reshape(-1, 3).T)
    least = kept_cycles(rows, np.array([6]))
    assert least.tolist() == [kept]
    state = cycles(rows, least, 0.1)
    assert state.is_within.all()
