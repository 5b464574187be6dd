"""Dominant resource fairness: the papers' examples, and the four properties of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demands import column
from demands import demand as demand_columns
from motet.allocation.progressive import Claims, fill_progressively
from motet.allocation.queue_tree import QueueTree

Vector = tuple[int, ...]
SMALL, MANY_TASKS = 1000, 1100
"""Capacity of every resource in tasks' units: a task is a thousandth to a hundredth of it."""


def tasks_of(
    capacity: Sequence[float],
    demands: Sequence[Vector],
    weights: Sequence[float] | None = None,
    most: Sequence[int] | None = None,
) -> list[int]:
    """How many tasks each user gets that wants any number (or `most`) of one kind."""
    nodes = len(demands) + 1
    tree = QueueTree.of([-1] + [0] * len(demands), [1.0, *(weights or [1.0] * len(demands))])
    return granted(capacity, demands, range(1, nodes), tree, most)


def granted(
    capacity: Sequence[float],
    demands: Sequence[Vector],
    queues: Sequence[int],
    tree: QueueTree,
    most: Sequence[int] | None = None,
) -> list[int]:
    """Tasks are workers, each of which takes one of endlessly many GPUs beside its demand."""
    size, tasks = len(demands), np.array(most or [MANY_TASKS] * len(demands))
    full = np.array([(1, *demand) for demand in demands]) * tasks[:, None]
    roles = demand_columns(size, workers=tasks, max_workers=tasks)
    none, numbers = column(size, 0), column(size, range(size))
    is_elastic = tasks > 1
    claims = Claims(np.array(queues), full, roles, is_elastic, none, none, numbers)
    filling = fill_progressively(claims, tree, np.array([np.inf, *capacity]))
    return [int(count) for count in filling.workers]


def test_the_example_of_the_paper() -> None:
    """Section 4.1: 9 CPUs, 18 GB; A's tasks take <1 CPU, 4 GB>, B's <3 CPUs, 1 GB>."""
    assert tasks_of([9, 18], [(1, 4), (3, 1)]) == [3, 2]


def test_the_order_of_the_example() -> None:
    """Table 1 of the paper: B, A, A, B, A; equal shares go to the user that is named first."""
    found = [tasks_of([9, 18], [(3, 1), (1, 4)], most=most) for most in ([1, 9], [1, 1])]
    assert found == [[1, 4], [1, 1]]
    assert tasks_of([3, 18], [(3, 1), (1, 4)]) == [1, 0]
    assert tasks_of([5, 18], [(3, 1), (1, 4)]) == [1, 2]


def test_one_resource_is_shared_evenly() -> None:
    assert tasks_of([12], [(1,), (1,), (1,)]) == [4, 4, 4]
    assert tasks_of([12], [(1,), (2,), (1,)]) == [4, 2, 4]


def test_weights_scale_dominant_shares() -> None:
    assert tasks_of([12, 12], [(1, 0), (1, 0)], weights=[3, 1]) == [9, 3]


def test_small_requests_leave_the_rest_to_larger_ones() -> None:
    assert tasks_of([12], [(1,), (1,), (1,)], most=[1, 100, 100]) == [1, 6, 5]


def test_a_queue_is_not_penalised_for_its_siblings_other_resources() -> None:
    """H-DRF's first example: n1 wants GPUs; n2.1 only CPUs, n2.2 only GPUs."""
    tree = QueueTree.of([-1, 0, 0, 2, 2], [1.0] * 5)
    assert granted([10, 10], [(0, 1), (1, 0), (0, 1)], [1, 3, 4], tree) == [5, 10, 5]


def test_a_queue_that_can_get_no_more_does_not_block_its_siblings() -> None:
    """H-DRF's second: once GPUs are gone, CPUs are shared evenly by those that still want them.

    Two queues want CPUs, of which one sits beside a queue that wants GPUs, of which are few."""
    tree = QueueTree.of([-1, 0, 0, 0, 3, 3], [1.0] * 6)
    demands = [(1, 0), (0, 1), (1, 0), (0, 1)]
    assert granted([100, 3], demands, [1, 2, 4, 5], tree) == [50, 2, 50, 1]


def test_a_job_that_has_its_first_unit_keeps_it_whatever_its_share() -> None:
    tree = QueueTree.of([-1, 0, 0], [1.0] * 3)
    roles, ones = demand_columns(2, workers=2, min_workers=2, max_workers=2), column(2, 1)
    numbers = column(2, range(2))
    claims = Claims(ones * [1, 2], ones[:, None] * 2, roles, ones < 1, ones, ones, numbers)
    held = np.array([False, True])
    kept = fill_progressively(claims, tree, np.array([3.0]), held)
    assert kept.units.tolist() == [0, 1]
    assert (kept.short[0], kept.free_gpus[0], kept.position.tolist()) == (0, 1, [1, 0])
    assert fill_progressively(claims, tree, np.array([3.0])).units.tolist() == [1, 0]


# -- the properties of section 3, for tasks that are small beside the capacity ---------------------

demand = st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10)).filter(any)
users = st.lists(demand, min_size=1, max_size=5)
CAPACITY = (SMALL, SMALL, SMALL)


def share_of(demand: Vector, tasks: int) -> Fraction:
    return Fraction(max(demand) * tasks, SMALL)


def fit(amounts: Sequence[int], demand: Vector) -> int:
    """How many of these tasks an amount of resources holds."""
    return min(amount // needed for amount, needed in zip(amounts, demand, strict=True) if needed)


@given(demands=users, data=st.data())
def test_every_user_has_a_bottleneck(demands: list[Vector], data: st.DataObject) -> None:
    """No further task of a user fits, for want of a resource of which no user with a larger share
    takes part: what makes an allocation max-min fair. Up to one task, and up to those that still
    fit into what is too little for a task of this user."""
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(demands), max_size=len(demands)))
    got = tasks_of(CAPACITY, demands, weights)
    shares = [
        share_of(demand, tasks) / weight
        for demand, tasks, weight in zip(demands, got, weights, strict=True)
    ]
    used = [sum(d[each] * n for d, n in zip(demands, got, strict=True)) for each in range(3)]

    def is_bottleneck(user: int, resource: int) -> bool:
        needed = demands[user][resource]
        others = [each for each, demand in enumerate(demands) if demand[resource]]
        return SMALL - used[resource] < needed and all(
            shares[each]
            <= shares[user]
            + share_of(demands[each], 1 + (needed - 1) // demands[each][resource]) / weights[each]
            for each in others
        )

    for user in range(len(demands)):
        assert any(is_bottleneck(user, resource) for resource in range(3))


@given(demands=users)
def test_sharing_incentive_holds_up_to_one_task(
    demands: list[Vector],
) -> None:
    """Sharing incentive, up to one task of the job served before."""
    got = tasks_of(CAPACITY, demands)
    for demand, tasks in zip(demands, got, strict=True):
        alone = fit([SMALL // len(demands)] * 3, demand)
        largest = max(max(other) for other in demands)
        assert share_of(demand, tasks) >= share_of(demand, alone) - Fraction(largest, SMALL)


@given(demands=users)
def test_allocations_are_envy_free(demands: list[Vector]) -> None:
    """Envy-freedom, up to one task of the other."""
    got = tasks_of(CAPACITY, demands)
    for mine, tasks in zip(demands, got, strict=True):
        for other, count in zip(demands, got, strict=True):
            theirs = [needed * (count - 1) for needed in other]
            assert count == 0 or fit(theirs, mine) <= tasks


@given(demands=users)
def test_allocations_are_pareto_efficient(demands: list[Vector]) -> None:
    """Pareto efficiency: no task of anybody fits into what is left. Exact, for any sizes."""
    got = tasks_of(CAPACITY, demands)
    left = [
        SMALL - sum(d[resource] * n for d, n in zip(demands, got, strict=True))
        for resource in range(3)
    ]
    assert min(left) >= 0
    assert all(fit(left, demand) == 0 for demand in demands)


@given(demands=users, lie=demand)
def test_misreported_demands_gain_at_most_one_task(demands: list[Vector], lie: Vector) -> None:
    """Strategy-proofness, up to the rounding of whole tasks: see the slack below."""
    honest = tasks_of(CAPACITY, demands)[0]
    told = tasks_of(CAPACITY, [lie, *demands[1:]])[0]
    useful = fit([needed * told for needed in lie], demands[0])
    slack = max(max(each) for each in (*demands, lie))
    assert share_of(demands[0], useful) <= share_of(demands[0], honest) + Fraction(
        (len(demands) + 1) * slack, SMALL
    )


@pytest.mark.parametrize("weights", [(1.0, 1.0), (2.0, 1.0), (1.0, 5.0)])
@given(one=demand, other=demand)
def test_weighted_shares_are_equal_while_both_want_the_same_resource_most(
    weights: tuple[float, float], one: Vector, other: Vector
) -> None:
    one, other = ((max(each), 0, 0) for each in (one, other))
    got = tasks_of(CAPACITY, [one, other], weights)
    shares = [
        float(share_of(each, count)) / weight
        for each, count, weight in zip((one, other), got, weights, strict=True)
    ]
    assert abs(shares[0] - shares[1]) <= 2 * (one[0] + other[0]) / min(weights) / SMALL
